import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { CheckpointCoordinator } from '../../../../src/runtime/checkpoint/coordinator/coordinator.ts'
import { S3CheckpointStorage } from '../../../../src/runtime/checkpoint/storage/s3.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'
import { FakeS3, refusal, send } from '../../../files/s3/fake-s3.ts'

const credentials = { accessKeyId: 'id', secretAccessKey: 'key' }
const JOB = 'ab'.repeat(16)
const HOUR = 3600 * 1000
let s3: FakeS3

beforeEach(async () => {
  s3 = await FakeS3.start()
})

afterEach(async () => {
  await s3[Symbol.asyncDispose]()
})

const open = (prefix = 'weir'): S3CheckpointStorage =>
  new S3CheckpointStorage(s3.url(prefix), { credentials, retryForMs: 60_000 })
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

async function put(storage: S3CheckpointStorage, path: string): Promise<void> {
  const writer = await storage.createWriter(path)
  await writer.write(bytes('x'))
  await writer.commit()
}

function coordinator(storage: S3CheckpointStorage): Promise<CheckpointCoordinator> {
  return CheckpointCoordinator.open({
    jobId: JOB,
    jobName: 'raced',
    storage,
    clock: new ManualClock(1000),
    random: seededRandom(1),
    job: {
      triggerBarrier: () => {},
      notifyCompleted: () => {},
      notifyAborted: () => {},
      failJob: () => {},
    },
    tolerableFailures: 5,
  })
}

describe('S3CheckpointStorage', () => {
  it('gives the claims of two coordinators that race to one each', async () => {
    const opened = await Promise.all([coordinator(open()), coordinator(open())])
    expect(opened.map(({ generation }) => generation).sort()).toEqual([1, 2])
    const claims = [...s3.objects.keys()].filter((key) => key.includes('/epoch-'))
    expect(claims.sort()).toEqual([`weir/${JOB}/epoch-1`, `weir/${JOB}/epoch-2`])
  })

  it('refuses a server that ignores the condition of a write, before it claims anything', async () => {
    s3.keepsConditions = false
    await expect(coordinator(open())).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(
        /does not keep the condition "If-None-Match: \*" .*3 of 3 creates of one object succeeded.*HDFS/,
      ),
    })
    expect([...s3.objects.keys()]).toEqual([])
  })

  it('refuses a server that does not know the condition', async () => {
    const unknown: FakeS3['faults'][number] = (request, _incoming, response) => {
      if (request.headers['if-none-match'] === undefined) return false
      send(response, refusal(501, 'NotImplemented'))
      return true
    }
    s3.faults.push(unknown, unknown, unknown)
    await expect(open().createExclusive('job/epoch-1', bytes('1'))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('NotImplemented'),
    })
  })

  it('in a bucket that is not there ends the start of a job, without further attempts', async () => {
    s3.faults.push((_request, _incoming, response) => {
      send(response, refusal(404, 'NoSuchBucket'))
      return true
    })
    await expect(coordinator(open())).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      retryable: false,
      message: expect.stringContaining('there is no bucket box; make it'),
    })
    expect(s3.requests.length).toBe(1)
  })

  it('tries the condition once, and leaves nothing of the try', async () => {
    const storage = open()
    await storage.createExclusive('job/epoch-1', bytes('1'))
    await storage.createExclusive('job/epoch-2', bytes('1'))
    expect([...s3.objects.keys()].sort()).toEqual(['weir/job/epoch-1', 'weir/job/epoch-2'])
    expect(s3.log.filter((each) => each.includes('.weir-probe-')).length).toBe(4)
  })

  it('tries the condition later when the server was away at first', async () => {
    const storage = new S3CheckpointStorage(s3.url('weir'), {
      credentials,
      retryForMs: 0,
    })
    s3.faults.push((_request, _incoming, response) => {
      send(response, refusal(503, 'SlowDown'))
      return true
    })
    const create = () => storage.createExclusive('job/epoch-1', bytes('1'))
    await expect(create()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(await create()).toBe('created')
  })

  it.each([
    ['weir', 'weir/'],
    ['', ''],
  ])(
    'removes unfinished uploads of checkpoints that are a day old, below "%s"',
    async (root, at) => {
      const begin = (key: string, hours: number) =>
        s3.uploads.set(key, {
          key,
          metadata: {},
          parts: new Map(),
          began: new Date(Date.now() - hours * HOUR),
        })
      begin(`${at}${JOB}/shared/1-1-op-0-1`, 25)
      begin(`${at}savepoints/savepoint-abcdef-0123456789ab/1`, 25)
      begin(`${at}${JOB}/shared/1-1-op-0-2`, 23)
      begin(`${at}holiday/film.mp4`, 25)
      begin('other/shared/1-1-op-0-1', 25)
      await put(open(root), 'job/a')
      const left = [`${at}${JOB}/shared/1-1-op-0-2`, `${at}holiday/film.mp4`]
      const expected = root === '' ? left : [...left, 'other/shared/1-1-op-0-1']
      await expect.poll(() => [...s3.uploads.keys()].sort()).toEqual(expected.sort())
    },
  )

  it('deletes the manifest of a folder before its other files', async () => {
    const storage = open()
    for (const name of ['1-1-op-0-1', '_metadata', 'zz']) await put(storage, `savepoint/${name}`)
    s3.requests.length = 0
    await storage.delete('savepoint')
    const deletes = s3.requests.filter(({ method }) => method === 'POST')
    const keysOf = deletes.map(({ body }) => body.toString().match(/(?<=<Key>)[^<]*/g))
    expect(keysOf).toEqual([
      ['weir/savepoint/_metadata'],
      ['weir/savepoint/1-1-op-0-1', 'weir/savepoint/zz'],
    ])
    expect(s3.objects.size).toBe(0)
  })

  it('does not list what programs that show folders leave in a bucket', async () => {
    const storage = open()
    await put(storage, 'job/a')
    for (const key of ['weir/job/', 'weir/job/.DS_Store', 'weir/job//b']) {
      s3.objects.set(key, { bytes: Buffer.alloc(0), metadata: {} })
    }
    expect(await storage.list('')).toEqual([{ path: 'job/a', bytes: 1 }])
  })

  it('rejects every call after close', async () => {
    const storage = open()
    await storage.close()
    await expect(storage.read('a')).rejects.toMatchObject({ code: 'ILLEGAL_STATE' })
  })
})
