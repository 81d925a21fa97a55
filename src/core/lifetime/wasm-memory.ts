/**
 * A memory of WebAssembly. It has the form of `WebAssembly.Memory`, whose type only programs with the types of a browser
 * have: users of the package need none.
 */
export interface WasmMemory {
  /** The bytes; shared ones if the memory is. */
  readonly buffer: ArrayBuffer
  /** Grows by pages of 64 KiB, and gives how many there were before. Throws RangeError above the maximum. */
  grow(pages: number): number
}
