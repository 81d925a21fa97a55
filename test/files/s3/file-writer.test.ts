import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseS3Url } from '../../../src/files/s3/address.ts'
import { S3BucketClient } from '../../../src/files/s3/client.ts'
import { S3FileWriter } from '../../../src/files/s3/file-writer.ts'
import { answerOnce, cut, FakeS3, refusal, send } from './fake-s3.ts'

let s3: FakeS3
let client: S3BucketClient

beforeEach(async () => {
  s3 = await FakeS3.start()
  const credentials = { accessKeyId: 'id', secretAccessKey: 'top-secret' }
  client = new S3BucketClient(parseS3Url(s3.url('')), { retryForMs: 60_000, credentials })
})

afterEach(async () => {
  client.close()
  await s3[Symbol.asyncDispose]()
})

describe('a file in parts', () => {
  const whole = Uint8Array.from({ length: 10_000 }, (_, at) => at % 251)

  it('is there as a whole when it is finished, and not before', async () => {
    const file = new S3FileWriter(client, 'big', 1000)
    for (let at = 0; at < whole.length; at += 700) await file.write(whole.subarray(at, at + 700))
    expect(s3.objects.size).toBe(0)
    await file.finish()
    expect(Buffer.compare(s3.objects.get('big')!.bytes, whole)).toBe(0)
    expect(s3.uploads.size).toBe(0)
  })

  it('goes as a whole when it fills one part', async () => {
    const file = new S3FileWriter(client, 'one', 10_000)
    await file.write(whole)
    await file.finish()
    expect(s3.log).toEqual(['PUT one'])
    expect(Buffer.compare(s3.objects.get('one')!.bytes, whole)).toBe(0)
  })

  it('sends a part again whose connection was reset, and a completion whose answer was lost', async () => {
    s3.faults.push(cut(s3, 'PUT', 'before'), cut(s3, 'PUT', 'after'))
    const file = new S3FileWriter(client, 'big', 1000)
    await file.write(whole)
    s3.faults.push((request, incoming, response) =>
      request.query.has('uploadId') ? cut(s3, 'POST', 'after')(request, incoming, response) : false,
    )
    await file.finish()
    expect(Buffer.compare(s3.objects.get('big')!.bytes, whole)).toBe(0)
    expect(s3.log.filter((each) => each === 'POST big?upload').length).toBe(3)
    expect(s3.log.at(-1)).toBe('HEAD big')
  })

  it('leaves no part when it is discarded', async () => {
    const file = new S3FileWriter(client, 'big', 1000)
    await file.write(whole)
    expect(s3.uploads.size).toBe(1)
    await file.discard()
    expect(s3.uploads.size).toBe(0)
    expect(s3.objects.size).toBe(0)
  })

  it('is discarded after its parts on their way: one that comes later would stay', async () => {
    const events: string[] = []
    const held = Promise.withResolvers<void>()
    s3.faults.push(async (request, _incoming, response) => {
      if (request.method !== 'PUT') return false
      await held.promise
      send(response, s3.execute(request))
      events.push('part stored')
      return true
    })
    s3.faults.push((request) => {
      if (request.method === 'DELETE') events.push('upload removed')
      return false
    })
    const file = new S3FileWriter(client, 'big', 5000)
    await file.write(whole)
    await expect.poll(() => s3.requests.length).toBe(2)
    const discarded = file.discard()
    // What was sent before this answer has come.
    await client.list('')
    held.resolve()
    await discarded
    expect(events).toEqual(['part stored', 'upload removed'])
    expect(s3.uploads.size).toBe(0)
  })

  it('fails when a part is refused, and can be discarded', async () => {
    const file = new S3FileWriter(client, 'big', 1000)
    s3.faults.push(answerOnce('PUT', refusal(403, 'AccessDenied')))
    const writing = (async () => {
      await file.write(whole)
      await file.finish()
    })()
    await expect(writing).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    await file.discard()
    expect(s3.uploads.size).toBe(0)
  })
})
