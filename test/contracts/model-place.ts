import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { nodeFileSystem as files } from '../../src/files/node-file-system.ts'
import { download } from '../../src/inference/places/download.ts'
import type { PlaceFile } from '../../src/inference/places/port.ts'
import type { PlaceKind, ServedPlace } from '../services/model-places/places.ts'

/** A clock whose pauses take no time. */
export const hastyClock: Clock = {
  nowMs: () => 0,
  monotonicMs: () => 0,
  after(_, callback) {
    const handle = setImmediate(callback)
    return () => clearImmediate(handle)
  },
}

/** Bytes of which each place is known. */
export function patterned(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) & 0xff)
}

const LARGE = 300_000

/** What every place of models owes its users. */
export function modelPlaceContract(name: string, kind: PlaceKind): void {
  describe(`${name} as a place of models`, () => {
    let folder: string
    let served: ServedPlace
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'weir-place-'))
      served = await kind.serve(
        new Map([
          ['onnx/net.onnx', patterned(LARGE)],
          ['labels of all.txt', new TextEncoder().encode('cat\ndog\n')],
          ['empty.txt', new Uint8Array(0)],
          ['a+b&c.json', new TextEncoder().encode('{}')],
          ['onnx/deep/card.md', new TextEncoder().encode('# card')],
        ]),
      )
    })
    afterEach(async () => {
      served.server.stop()
      await rm(folder, { recursive: true })
    })

    async function fileAt(path: string): Promise<PlaceFile> {
      const { files: listed } = await served.place.list()
      return listed.find((file) => file.path === path)!
    }

    function fetched(file: PlaceFile) {
      const path = join(folder, 'part')
      return download({ place: served.place, file, path, files, clock: hastyClock })
    }

    it('lists all files with their lengths', async () => {
      const { files: listed } = await served.place.list()
      expect(new Map(listed.map(({ path, bytes }) => [path, bytes]))).toEqual(
        new Map([...served.files].map(([path, { length }]) => [path, length])),
      )
      expect(new Set(listed.map(({ identity }) => identity)).size).toBe(listed.length)
    })

    it('gives each file byte for byte, and states what it can of it', async () => {
      for (const [path, bytes] of served.files) {
        const verified = await fetched(await fileAt(path))
        expect(verified, path).toBe(kind.statesChecksums ? 'checksum' : 'length')
        expect(new Uint8Array(await readFile(join(folder, 'part'))), path).toEqual(bytes)
        await rm(join(folder, 'part'))
      }
    })

    it('continues where a connection breaks, and reads nothing twice', async () => {
      const file = await fileAt('onnx/net.onnx')
      served.server.breaks.push(100_000, 50_000, 20_000)
      await fetched(file)
      expect(new Uint8Array(await readFile(join(folder, 'part')))).toEqual(patterned(LARGE))
      const starts = served.server.requests
        .map(({ headers }) => Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0))
        .filter((start) => start > 0)
      expect(starts.length).toBeGreaterThanOrEqual(1)
      expect(starts).toEqual([...starts].sort((a, b) => a - b))
    })

    it('keeps what came when attempts bring nothing more, and continues there later', async () => {
      const file = await fileAt('onnx/net.onnx')
      served.server.breaks.push(100_000, 0, 0, 0, 0)
      await expect(fetched(file)).rejects.toMatchObject({
        code: 'CONNECTOR_FAILED',
        message: expect.stringMatching(/came up to byte \d+ of 300000.*the same command continues/),
      })
      const kept = (await readFile(join(folder, 'part'))).length
      served.server.requests.length = 0
      await fetched(file)
      expect(new Uint8Array(await readFile(join(folder, 'part')))).toEqual(patterned(LARGE))
      const ranges = served.server.requests.map(({ headers }) => headers.range)
      if (kept > 0) expect(ranges).toContain(`bytes=${kept}-`)
    })

    it('begins again where the server knows no ranges', async () => {
      const file = await fileAt('onnx/net.onnx')
      served.server.sendsWhole = true
      await writeFile(join(folder, 'part'), patterned(LARGE).subarray(0, 1000))
      await fetched(file)
      expect(new Uint8Array(await readFile(join(folder, 'part')))).toEqual(patterned(LARGE))
    })

    it('takes a file that is whole already, and not one that is longer', async () => {
      const file = await fileAt('onnx/net.onnx')
      await writeFile(join(folder, 'part'), patterned(LARGE))
      await fetched(file)
      await writeFile(join(folder, 'part'), patterned(LARGE + 7))
      await fetched(file)
      expect(new Uint8Array(await readFile(join(folder, 'part')))).toEqual(patterned(LARGE))
    })

    it('refuses bytes that are not those of a checksum, keeps none, and says where there is no checksum', async () => {
      const file = await fileAt('onnx/net.onnx')
      served.files.get('onnx/net.onnx')![7]! ^= 1
      const end = await fetched(file).catch((error: unknown) => error)
      if (!kind.statesChecksums) return expect(end).toBe('length')
      expect(end).toMatchObject({ code: 'CHECKSUM_MISMATCH' })
      await expect(readFile(join(folder, 'part'))).rejects.toMatchObject({ code: 'ENOENT' })
    })

    it('refuses more bytes than it has listed', async () => {
      const file = await fileAt('onnx/net.onnx')
      served.files.set('onnx/net.onnx', patterned(LARGE + 5))
      const stated = fetched(file)
      await expect(stated).rejects.toMatchObject({ code: 'CHECKSUM_MISMATCH' })
    })

    it.each([
      [401, 'UNAUTHENTICATED'],
      [403, 'ACCESS_DENIED'],
      [404, 'FILE_NOT_FOUND'],
      [400, 'UNSUPPORTED'],
      [503, 'CONNECTOR_FAILED'],
    ])('says what HTTP %i means, and nothing of what the server wrote', async (status, code) => {
      served.server.refusal = () => status
      const error: unknown = await served.place.list().catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code })
      expect(String(error)).not.toContain('secret')
    })
  })
}
