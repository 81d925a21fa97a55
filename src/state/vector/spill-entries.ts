import { VECTOR_IMAGE_PREFIX_BYTES, vectorRowBytes } from '../rows/codec.ts'
import { META_IMAGE, META_THROUGH } from '../rows/layout.ts'
import type { StoreChange } from '../store/state-store.ts'
import type { VectorStoreKeys } from './store-keys.ts'
import type { VersionMemory } from './version-memory.ts'

/** Entries of one batch that are kept side by side. */
const PLACES = 64

/**
 * The store's entries of rows that leave memory, encoded into a buffer that all batches share: an array
 * per row would cost as much as the store's write.
 */
export class VectorSpillEntries {
  private readonly memory: VersionMemory
  private readonly keys: VectorStoreKeys
  /** Made with the first batch. */
  private places: Uint8Array[] | undefined

  constructor(memory: VersionMemory, keys: VectorStoreKeys) {
    this.memory = memory
    this.keys = keys
  }

  /** The `n`-th entry of a batch, its row with its images: valid until the next call for the same place. */
  at(n: number, row: number): StoreChange {
    const { rows, scratch } = this.memory
    const images = this.imagesOf(row)
    const value = images.length === 0 ? this.place(n) : this.valueFor(images.length)
    value.set(scratch.encode(row, images.length))
    let at = vectorRowBytes(rows.layout.dimension)
    for (const image of images) {
      const through = rows.arena.words[rows.metaOf(image) + META_THROUGH]!
      for (let i = 0; i < 4; i++) value[at + i] = through >>> (8 * i)
      const encoded = scratch.encode(image)
      value.set(encoded, at + VECTOR_IMAGE_PREFIX_BYTES)
      at += VECTOR_IMAGE_PREFIX_BYTES + encoded.length
    }
    return { key: this.keys.at(n, scratch.keyOf(row)), value }
  }

  /** The row's older images, newest first. */
  private imagesOf(row: number): readonly number[] {
    const { rows } = this.memory
    const { words } = rows.arena
    let image = words[rows.metaOf(row) + META_IMAGE]! - 1
    if (image < 0) return NO_IMAGES
    const images: number[] = []
    while (image >= 0) {
      images.push(image)
      image = words[rows.metaOf(image) + META_IMAGE]! - 1
    }
    return images
  }

  private place(n: number): Uint8Array {
    if (n >= PLACES) return this.valueFor(0)
    const size = vectorRowBytes(this.memory.rows.layout.dimension)
    this.places ??= placesIn(new Uint8Array(PLACES * size), size)
    return this.places[n]!
  }

  private valueFor(images: number): Uint8Array {
    const size = vectorRowBytes(this.memory.rows.layout.dimension)
    return new Uint8Array(size + images * (size + VECTOR_IMAGE_PREFIX_BYTES))
  }
}

const NO_IMAGES: readonly number[] = []

function placesIn(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from({ length: PLACES }, (_, n) => bytes.subarray(n * size, (n + 1) * size))
}
