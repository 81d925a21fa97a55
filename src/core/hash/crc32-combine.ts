/** The reflected polynomial of CRC-32 (IEEE 802.3), as of `node:zlib`'s `crc32`. */
const POLYNOMIAL = 0xedb88320 | 0
/** x to the power 0 in the reflected order of bits: the highest one. */
const ONE = 1 << 31
/** Lengths have up to 53 bits, and 2^3 bits make a byte. */
const POWERS = 56

/** The product of two polynomials modulo CRC-32's. */
function multiply(left: number, right: number): number {
  let product = 0
  let shifted = right
  for (let rest = left; rest !== 0; rest <<= 1) {
    if (rest < 0) product ^= shifted
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ POLYNOMIAL
  }
  return product
}

/** x^(2^n) modulo the polynomial, at n. */
function powersOfTwo(): Int32Array {
  const powers = new Int32Array(POWERS)
  powers[0] = 1 << 30
  for (let n = 1; n < POWERS; n++) powers[n] = multiply(powers[n - 1]!, powers[n - 1]!)
  return powers
}

const X = powersOfTwo()

/**
 * The CRC-32 of two pieces behind each other, from the checksum of each and the bytes of the second,
 * without a look at either: the first is multiplied by x^(8 x bytes), by squaring, as in
 * `crc32_combine` of M. Adler's zlib. Some 0.3 us.
 */
export function crc32Combine(first: number, second: number, secondBytes: number): number {
  let shift = ONE
  let rest = secondBytes
  for (let n = 3; rest > 0; n++) {
    if (rest % 2 === 1) shift = multiply(X[n]!, shift)
    rest = Math.floor(rest / 2)
  }
  return (multiply(shift, first | 0) ^ second) >>> 0
}
