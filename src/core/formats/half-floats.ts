/** The number that 16 bits of IEEE 754 stand for: 1 of sign, 5 of exponent, 10 of fraction. */
export function numberOfHalf(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  if (exponent === 0) return sign * fraction * 2 ** -24
  return sign * (1024 + fraction) * 2 ** (exponent - 25)
}

/** The 16 bits that are nearest to a number, ties to even; Infinity for one that is too large. */
export function halfOfNumber(number: number): number {
  const sign = number < 0 || Object.is(number, -0) ? 0x8000 : 0
  const size = Math.abs(number)
  if (Number.isNaN(number)) return 0x7e00
  if (size >= 65_520) return sign | 0x7c00
  const exponent = Math.max(-14, Math.floor(Math.log2(size || 1e-30)))
  const steps = nearestEven(size / 2 ** (exponent - 10))
  // A fraction that rounds up to the next power of two carries into the exponent.
  return sign | (steps < 1024 ? steps : (exponent + 14) * 1024 + steps)
}

/** The number of the upper 16 bits of a float of 32 (bfloat16). */
export function numberOfBrain(bits: number): number {
  const view = new DataView(new ArrayBuffer(4))
  view.setUint16(0, bits)
  return view.getFloat32(0)
}

/** The 16 bits of a bfloat16 that are nearest to a number, ties to even. */
export function brainOfNumber(number: number): number {
  if (Number.isNaN(number)) return 0x7fc0
  const view = new DataView(new ArrayBuffer(4))
  view.setFloat32(0, number)
  const bits = view.getUint32(0)
  const isUp = (bits & 0xffff) > 0x8000 || ((bits & 0xffff) === 0x8000 && (bits & 0x10000) !== 0)
  return Math.min((bits >>> 16) + (isUp ? 1 : 0), 0xffff)
}

function nearestEven(number: number): number {
  const floor = Math.floor(number)
  const rest = number - floor
  if (rest !== 0.5) return Math.round(number)
  return floor % 2 === 0 ? floor : floor + 1
}
