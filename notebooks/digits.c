/* The end of the network `digits` as loops: what a compiler of networks hands to LLVM.
 *
 * The dump in digits-llvm.txt.gz is what this prints (clang 22, from `pip install ziglang`):
 *   python -m ziglang clang -O2 -fno-unroll-loops -emit-llvm -c digits.c -o digits.bc -mllvm -print-before-all -mllvm -print-after-all
 */

static float positive(float x) { return x > 0.0f ? x : 0.0f; }

/* nn.relu of the four channels that the convolution leaves. */
void relu(const float data[256], float out[256]) {
  for (int i = 0; i < 256; i++) out[i] = positive(data[i]);
}

/* nn.dense and nn.bias_add: ten numbers from sixty-four. */
void dense(const float data[64], const float weight[640], const float bias[10], float out[10]) {
  for (int digit = 0; digit < 10; digit++) {
    float sum = bias[digit];
    for (int i = 0; i < 64; i++) sum += data[i] * weight[64 * digit + i];
    out[digit] = sum;
  }
}

/* Where the largest of ten numbers is. */
int largest(const float numbers[10]) {
  int best = 0;
  for (int digit = 1; digit < 10; digit++)
    if (numbers[digit] > numbers[best]) best = digit;
  return best;
}

/* Returns the digit that the network predicts. */
int classify(const float data[64], const float weight[640], const float bias[10]) {
  float numbers[10];
  dense(data, weight, bias, numbers);
  return largest(numbers);
}
