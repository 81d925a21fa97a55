/** Lengths of which a view is kept: those of keys, and of most packed records. */
const MOST = 512

/** Views of the first bytes of a buffer, one for each short length, so that no entry needs a new view. */
export class PrefixViews {
  private bytes: Uint8Array | undefined
  private views: (Uint8Array | undefined)[] = []

  /** The first `length` bytes of `bytes`. */
  of(bytes: Uint8Array, length: number): Uint8Array {
    if (length >= MOST) return bytes.subarray(0, length)
    // The array itself is compared: its buffer is asked for in native code.
    if (bytes !== this.bytes) {
      this.bytes = bytes
      this.views = new Array<undefined>(MOST).fill(undefined)
    }
    this.views[length] ??= bytes.subarray(0, length)
    return this.views[length]
  }
}
