/** Keys of one store read that are kept side by side. */
const PLACES = 256

/**
 * Store keys of rows, prefix and key, for reads of many rows: each is valid until the next call for its
 * place. They are in one buffer outside the JavaScript heap, because an engine that receives a small
 * array of the heap first has to move it out, at a microsecond each.
 */
export class VectorStoreKeys {
  private readonly prefix: Uint8Array
  private readonly stride: number
  /** Made with the first read. */
  private bytes: Uint8Array | undefined
  /** By place and length. */
  private readonly views: Uint8Array[][] = []

  constructor(prefix: Uint8Array, maxKeyBytes: number) {
    this.prefix = prefix
    this.stride = prefix.length + maxKeyBytes
  }

  /** The store key of the `n`-th row of a read. */
  at(n: number, key: Uint8Array): Uint8Array {
    const { prefix, stride } = this
    if (n >= PLACES || prefix.length + key.length > stride) return this.own(key)
    this.bytes ??= this.withPrefixes()
    this.bytes.set(key, n * stride + prefix.length)
    this.views[n] ??= []
    const views = this.views[n]!
    const known = views[key.length]
    if (known !== undefined) return known
    const view = this.bytes.subarray(n * stride, n * stride + prefix.length + key.length)
    views[key.length] = view
    return view
  }

  /** The store key in a new array. */
  own(key: Uint8Array): Uint8Array {
    const full = new Uint8Array(this.prefix.length + key.length)
    full.set(this.prefix)
    full.set(key, this.prefix.length)
    return full
  }

  private withPrefixes(): Uint8Array {
    const bytes = new Uint8Array(PLACES * this.stride)
    for (let n = 0; n < PLACES; n++) bytes.set(this.prefix, n * this.stride)
    return bytes
  }
}
