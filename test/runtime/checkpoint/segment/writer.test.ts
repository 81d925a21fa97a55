import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../../src/core/errors.ts'
import { SegmentWriter } from '../../../../src/runtime/checkpoint/segment/writer.ts'
import type { StorageWriter } from '../../../../src/runtime/checkpoint/storage/checkpoint-storage.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'

const PATH = 'job/shared/1-1-op-0-1'
const key = new Uint8Array([0x6b])

/** Storage whose writes wait for `release`, or fail. */
class HeldStorage extends MemoryCheckpointStorage {
  release: () => void = () => {}
  failing = false
  private gate = new Promise<void>((resolve) => {
    this.release = resolve
  })

  override async createWriter(path: string): Promise<StorageWriter> {
    const writer = await super.createWriter(path)
    return {
      ...writer,
      write: async (bytes) => {
        await this.gate
        if (this.failing) throw new WeirError('STORAGE_FAILED', 'the disk is full')
        await writer.write(bytes)
      },
    }
  }
}

function newWriter(storage: MemoryCheckpointStorage): SegmentWriter {
  const keyGroups = { first: 2, last: 9 }
  return new SegmentWriter({ storage, path: PATH, keyGroups, blockBytes: 100, maxPendingBlocks: 2 })
}

function fill(writer: SegmentWriter, blocks: number): void {
  for (let i = 0; i < blocks; i++) writer.append(3, 's', key, new Uint8Array(100))
}

describe('SegmentWriter', () => {
  it('writes these bytes', async () => {
    const storage = new MemoryCheckpointStorage()
    const writer = newWriter(storage)
    writer.append(9, 'st', new Uint8Array([1, 2]), new Uint8Array([7, 8, 9]))
    writer.append(3, 'st', key, undefined)
    writer.append(9, 'su', new Uint8Array([3]), new Uint8Array(0))
    await writer.finish({ checkpointId: 1, full: false })
    expect(Buffer.from(storage.files.get(PATH)!).toString('hex')).toMatchInlineSnapshot(
      `"57534547010000000300040000000001006b09000c00000001010103000204010207080902027374027375010301030009001c000000c2fdf30a16000000c6343a025753454796dc6c8c"`,
    )
  })

  it('refers to what it wrote', async () => {
    const storage = new MemoryCheckpointStorage()
    const writer = newWriter(storage)
    fill(writer, 3)
    const reference = await writer.finish({ checkpointId: 5, sequence: 1, full: true })
    const { checksum, bytes, ...rest } = reference
    expect(rest).toEqual({
      path: PATH,
      entries: 3,
      keyGroups: { first: 2, last: 9 },
      checkpointId: 5,
      sequence: 1,
      full: true,
    })
    expect(bytes).toBe(storage.files.get(PATH)!.length)
    expect(Buffer.from(storage.files.get(PATH)!).readUInt32LE(bytes - 4)).toBe(checksum)
  })

  it('copies the entries that are appended', async () => {
    const storage = new MemoryCheckpointStorage()
    const writer = newWriter(storage)
    const value = new Uint8Array([1, 1, 1, 1, 1, 1])
    writer.append(3, 's', key, value)
    value.fill(2)
    await writer.finish({ checkpointId: 1, full: false })
    expect(Buffer.from(storage.files.get(PATH)!).includes(Buffer.alloc(6, 1))).toBe(true)
  })

  it('asks its producer to wait while storage is slow', async () => {
    const storage = new HeldStorage()
    const writer = newWriter(storage)
    fill(writer, 1)
    expect(writer.ready()).toBe(true)
    fill(writer, 1)
    expect(writer.ready()).toBe(false)
    storage.release()
    await writer.whenReady()
    expect(writer.ready()).toBe(true)
    expect((await writer.finish({ checkpointId: 1, full: false })).entries).toBe(2)
  })

  it('reports a storage failure when it finishes, and does not block its producer', async () => {
    const storage = new HeldStorage()
    storage.failing = true
    const writer = newWriter(storage)
    fill(writer, 4)
    storage.release()
    await writer.whenReady()
    fill(writer, 4)
    await expect(writer.finish({ checkpointId: 1, full: false })).rejects.toThrow('disk is full')
    expect(storage.files.size).toBe(0)
  })

  it('leaves nothing when it is aborted', async () => {
    const storage = new MemoryCheckpointStorage()
    const writer = newWriter(storage)
    fill(writer, 4)
    await writer.abort()
    await writer.abort()
    expect(storage.files.size).toBe(0)
    expect(() => fill(writer, 1)).toThrow('it is aborted')
    await expect(writer.finish({ checkpointId: 1, full: false })).rejects.toMatchObject({
      code: 'ILLEGAL_STATE',
    })
  })

  it('does not use storage before it has something to write', async () => {
    const storage = new MemoryCheckpointStorage()
    storage.createWriter = async () => {
      throw new Error('touched')
    }
    const writer = newWriter(storage)
    writer.append(3, 's', key, undefined)
    await writer.abort()
    expect(writer.entries).toBe(1)
  })

  it('refuses a key group outside its range', () => {
    const writer = newWriter(new MemoryCheckpointStorage())
    expect(() => writer.append(10, 's', key, undefined)).toThrow('outside the segment')
    expect(() => writer.append(1, 's', key, undefined)).toThrow('outside the segment')
  })
})
