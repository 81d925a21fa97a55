/**
 * Little-endian numbers in a byte array, without a DataView. Callers check bounds first: bits beyond the
 * end of the array read as 0.
 */

const scratch = new ArrayBuffer(8)
const asBytes = new Uint8Array(scratch)
const asUint32 = new Uint32Array(scratch)
const asFloat32 = new Float32Array(scratch)
const asFloat64 = new Float64Array(scratch)

/** The uint16 at `at`. */
export function readUint16(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8)
}

/** The uint32 at `at`. */
export function readUint32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
  )
}

/** The int32 at `at`. */
export function readInt32(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
}

/** The int64 at `at` as a double; exact up to 53 bits, NaN beyond. */
export function readInt53(bytes: Uint8Array, at: number): number {
  const value = readInt32(bytes, at + 4) * 4294967296 + readUint32(bytes, at)
  return Number.isSafeInteger(value) ? value : Number.NaN
}

/** The float32 at `at`. */
export function readFloat32(bytes: Uint8Array, at: number): number {
  asUint32[0] = readUint32(bytes, at)
  return asFloat32[0]!
}

/** The float64 at `at`. */
export function readFloat64(bytes: Uint8Array, at: number): number {
  asUint32[0] = readUint32(bytes, at)
  asUint32[1] = readUint32(bytes, at + 4)
  return asFloat64[0]!
}

/** Stores a uint16. */
export function writeUint16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value
  bytes[at + 1] = value >>> 8
}

/** Stores a uint32 (or the two's complement of an int32). */
export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value
  bytes[at + 1] = value >>> 8
  bytes[at + 2] = value >>> 16
  bytes[at + 3] = value >>> 24
}

/** Stores a whole number of 53 bits as an int64. */
export function writeInt53(bytes: Uint8Array, at: number, value: number): void {
  writeUint32(bytes, at, value >>> 0)
  writeUint32(bytes, at + 4, Math.floor(value / 4294967296))
}

/** Stores a float32. */
export function writeFloat32(bytes: Uint8Array, at: number, value: number): void {
  asFloat32[0] = value
  bytes[at] = asBytes[0]!
  bytes[at + 1] = asBytes[1]!
  bytes[at + 2] = asBytes[2]!
  bytes[at + 3] = asBytes[3]!
}
