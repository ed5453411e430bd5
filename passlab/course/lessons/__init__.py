"""The exercises of the course, a module for each lesson: what they require, hints and a solution.

`lesson(2)` of a lesson's notebook imports its module. What an exercise needs of the notebook, such as a class that the
lesson builds, it takes from `lesson`, the names of the notebook.
"""
