import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import type { WeirError } from '../../../src/core/errors.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { parseS3Url } from '../../../src/files/s3/address.ts'
import { S3BucketClient, type S3BucketClientOptions } from '../../../src/files/s3/client.ts'
import { answerOnce, cut, FakeS3, type FakeS3Answer, refusal, type S3Fault } from './fake-s3.ts'

let s3: FakeS3
let client: S3BucketClient

const credentials = { accessKeyId: 'id', secretAccessKey: 'top-secret' }

function clientOf(url = s3.url(''), options: S3BucketClientOptions = {}): S3BucketClient {
  const random = seededRandom(1)
  const settings = { retryForMs: 60_000, random, credentials, ...options }
  return new S3BucketClient(parseS3Url(url), settings)
}

/** A clock on which the waits of a test are short. */
const TWENTY_TIMES_AS_FAST: Clock = {
  nowMs: () => systemClock.nowMs() * 20,
  monotonicMs: () => systemClock.monotonicMs() * 20,
  after: (delayMs, callback) => systemClock.after(delayMs / 20, callback),
}

beforeEach(async () => {
  s3 = await FakeS3.start()
  client = clientOf()
})

afterEach(async () => {
  vi.unstubAllEnvs()
  client.close()
  await s3[Symbol.asyncDispose]()
})

/** Hides what this machine has for programs of AWS. */
function noSettingsOfThisMachine(): void {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('AWS_')) vi.stubEnv(name, undefined)
  }
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null')
  vi.stubEnv('AWS_CONFIG_FILE', '/dev/null')
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (data: Uint8Array): string => new TextDecoder().decode(data)

async function failureOf(action: Promise<unknown>): Promise<WeirError> {
  const error = await action.then(
    () => new Error('no error'),
    (error: WeirError) => error,
  )
  return error as WeirError
}

describe('a request to S3', () => {
  it.each([
    ['503', refusal(503, 'SlowDown')],
    ['500', refusal(500, 'InternalError')],
    ['a conflict with another write', refusal(409, 'ConditionalRequestConflict')],
    ['a 502 of a proxy that says nothing', { status: 502 }],
  ])('is repeated after %s', async (_, answer) => {
    s3.faults.push(answerOnce('PUT', answer), answerOnce('PUT', answer))
    await client.put('a', bytes('whole'))
    expect(s3.log).toEqual(['PUT a', 'PUT a', 'PUT a'])
    expect(s3.objects.get('a')?.bytes.toString()).toBe('whole')
  })

  it('is repeated after a reset connection, of a write and of a read', async () => {
    s3.faults.push(cut(s3, 'PUT', 'before'), cut(s3, 'GET', 'before'))
    await client.put('a', bytes('whole'))
    expect(text(await client.read('a'))).toBe('whole')
    expect(s3.log).toEqual(['PUT a', 'PUT a', 'GET a', 'GET a'])
  })

  it('is repeated when the connection ends in the middle of what is read', async () => {
    await client.put('a', bytes('0123456789'))
    s3.faults.push((request, incoming, response) => {
      if (request.method !== 'GET') return false
      response.writeHead(200, { 'content-length': 10 })
      response.write('01234', () => incoming.socket.resetAndDestroy())
      return true
    })
    expect(text(await client.read('a'))).toBe('0123456789')
    expect(s3.log).toEqual(['PUT a', 'GET a', 'GET a'])
  })

  it('is repeated when the server is silent for too long, before and within its answer', async () => {
    const hasty = clientOf(s3.url(''), { timeoutMs: 500 })
    await hasty.put('a', bytes('0123456789'))
    s3.faults.push((request) => request.method === 'GET')
    s3.faults.push((request, _incoming, response) => {
      if (request.method !== 'GET') return false
      response.writeHead(200, { 'content-length': 10 }).write('01234')
      return true
    })
    expect(text(await hasty.read('a'))).toBe('0123456789')
    expect(s3.log).toEqual(['PUT a', 'GET a', 'GET a', 'GET a'])
    hasty.close()
  })

  it('says what it waits for while the server is away, and when it is back', async () => {
    const notices: string[] = []
    const waiting = clientOf(s3.url(''), {
      retryForMs: 60_000,
      timeoutMs: 600_000,
      clock: TWENTY_TIMES_AS_FAST,
      onOutage: (notice) => notices.push(notice.message),
    })
    const until = TWENTY_TIMES_AS_FAST.nowMs() + 4500
    const away: S3Fault = (request, incoming, response) => {
      if (TWENTY_TIMES_AS_FAST.nowMs() < until) s3.faults.push(away)
      return answerOnce('PUT', refusal(503, 'SlowDown'))(request, incoming, response)
    }
    s3.faults.push(away)
    await waiting.put('a', bytes('x'))
    expect(notices[0]).toMatch(
      /waiting for S3 since .* for 3 s or more: 127\.0\.0\.1:\d+: HTTP 503, SlowDown/,
    )
    expect(notices.at(-1)).toContain('S3 can be reached again')
    waiting.close()
  })

  it('ends with an error that counts its attempts when the server stays away', async () => {
    const hasty = clientOf('s3://box/x?endpoint=http://127.0.0.1:1', { retryForMs: 300 })
    const error = await failureOf(hasty.put('a', bytes('x')))
    expect(error).toMatchObject({ code: 'CONNECTOR_FAILED', details: { reason: 'ECONNREFUSED' } })
    expect(error.message).toMatch(
      /^S3 \(127\.0\.0\.1:1\) could not write a after \d attempts: the server did not answer/,
    )
  })
})

describe('an answer with an error', () => {
  it.each<[string, FakeS3Answer, string, RegExp]>([
    [
      'no bucket',
      refusal(404, 'NoSuchBucket'),
      'INVALID_ARGUMENT',
      /there is no bucket box; make it/,
    ],
    [
      'access denied',
      refusal(403, 'AccessDenied'),
      'PERMISSION_DENIED',
      /access is denied .*allow s3:GetObject/,
    ],
    [
      'a bucket of another region',
      refusal(301, 'PermanentRedirect', { 'x-amz-bucket-region': 'eu-west-3' }),
      'INVALID_ARGUMENT',
      /is in the region eu-west-3 .*\?region=eu-west-3/,
    ],
    [
      'a secret that is wrong',
      refusal(403, 'SignatureDoesNotMatch'),
      'UNAUTHENTICATED',
      /does not accept the credentials .*AWS_SECRET_ACCESS_KEY/,
    ],
    [
      'credentials that have expired',
      refusal(400, 'ExpiredToken'),
      'UNAUTHENTICATED',
      /temporary credentials have expired/,
    ],
  ])('says what to do: %s', async (_, answer, code, message) => {
    s3.faults.push(answerOnce('GET', answer))
    const error = await failureOf(client.list(''))
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
    expect(s3.requests.length).toBe(1)
    expect(JSON.stringify(error) + error.message).not.toContain(credentials.secretAccessKey)
  })

  it('of a clock that differs is tried once more, and then says to set the clock', async () => {
    const skewed = answerOnce('GET', refusal(403, 'RequestTimeTooSkewed'))
    s3.faults.push(skewed, skewed)
    const error = await failureOf(client.list(''))
    expect(error.message).toMatch(/clock of this machine differs too much/)
    s3.faults.push(skewed)
    expect(await client.list('')).toEqual([])
  })

  it('is not asked for where no region is known', async () => {
    noSettingsOfThisMachine()
    const error = await failureOf(clientOf('s3://bucket/x', { retryForMs: 0 }).list(''))
    expect(error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/no region is set; add \?region=NAME .*AWS_REGION/),
    })
  })

  it('is not asked for where no credentials are known', async () => {
    noSettingsOfThisMachine()
    const { credentials: _, ...options } = { credentials, retryForMs: 0 }
    const error = await failureOf(new S3BucketClient(parseS3Url(s3.url('')), options).list(''))
    expect(error).toMatchObject({
      code: 'UNAUTHENTICATED',
      message: expect.stringMatching(/no credentials were found .*AWS_ACCESS_KEY_ID/),
    })
    expect(s3.requests).toEqual([])
  })
})

describe('the settings of a bucket that its URL leaves out', () => {
  it('come from the environment, as those of other programs do', async () => {
    noSettingsOfThisMachine()
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'environment-id')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
    vi.stubEnv('AWS_REGION', 'eu-west-3')
    vi.stubEnv('AWS_ENDPOINT_URL_S3', `http://127.0.0.1:${s3.port}`)
    expect(await new S3BucketClient(parseS3Url('s3://box/x')).list('')).toEqual([])
    expect(s3.requests[0]?.headers.authorization).toMatch(
      /Credential=environment-id\/\d+\/eu-west-3\/s3\//,
    )
  })

  it('come from the shared files of AWS and their profile', async () => {
    noSettingsOfThisMachine()
    const folder = mkdtempSync(join(tmpdir(), 'weir-aws-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const keys = 'aws_access_key_id = profile-id\naws_secret_access_key = secret\n'
    writeFileSync(join(folder, 'credentials'), `[mine]\n${keys}`)
    writeFileSync(join(folder, 'config'), '[profile mine]\nregion = eu-north-1\n')
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'credentials'))
    vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'config'))
    vi.stubEnv('AWS_PROFILE', 'mine')
    const url = `s3://box/x?endpoint=http://127.0.0.1:${s3.port}`
    await new S3BucketClient(parseS3Url(url)).list('')
    expect(s3.requests[0]?.headers.authorization).toMatch(
      /Credential=profile-id\/\d+\/eu-north-1\/s3\//,
    )
  })

  it('are us-east-1 for a server that is named in the URL, without any of them', async () => {
    noSettingsOfThisMachine()
    await clientOf(`s3://box/x?endpoint=http://127.0.0.1:${s3.port}`).list('')
    expect(s3.requests[0]?.headers.authorization).toContain('/us-east-1/s3/')
  })
})

describe('a conditional write', () => {
  it('is won by one of many', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, i) => client.create('claim', bytes(`${i}`))),
    )
    expect(outcomes.filter((outcome) => outcome === 'created').length).toBe(1)
    const winner = outcomes.indexOf('created')
    expect(s3.objects.get('claim')?.bytes.toString()).toBe(`${winner}`)
  })

  it('whose answer is lost knows that the object is its own', async () => {
    s3.faults.push(cut(s3, 'PUT', 'after'))
    expect(await client.create('claim', bytes('mine'))).toBe('created')
    expect(s3.log).toEqual(['PUT claim', 'PUT claim', 'HEAD claim'])
  })

  it('whose answer is lost does not take the object of another one, with equal bytes, for its own', async () => {
    await client.create('claim', bytes('equal'))
    s3.faults.push(cut(s3, 'PUT', 'after'))
    expect(await client.create('claim', bytes('equal'))).toBe('already-exists')
  })
})

describe('a list', () => {
  it('of more objects than a page has is complete, and they are deleted by the thousand', async () => {
    const keys = Array.from({ length: 2500 }, (_, i) => `folder/${String(i).padStart(5, '0')}`)
    for (const key of keys) s3.objects.set(key, { bytes: Buffer.from('x'), metadata: {} })
    const found = await client.list('folder/')
    expect(found.map(({ key }) => key)).toEqual(keys)
    await client.deleteAll(keys)
    expect(s3.objects.size).toBe(0)
    expect(s3.log.filter((each) => each === 'POST ').length).toBe(3)
  })
})

describe('a read', () => {
  it('goes into the memory that is given', async () => {
    await client.put('a', bytes('0123456789'))
    const into = new Uint8Array(8)
    const read = await client.read('a', 2, 4, into)
    expect(text(read)).toBe('2345')
    expect(read.buffer).toBe(into.buffer)
  })

  it('is whole when the server does not state its length', async () => {
    s3.faults.push((_request, _incoming, response) => {
      response.writeHead(200, { 'transfer-encoding': 'chunked' })
      response.write('01234')
      response.end('56789')
      return true
    })
    expect(text(await client.read('a'))).toBe('0123456789')
  })

  it('is refused when the server ignores its range', async () => {
    s3.faults.push(answerOnce('GET', { status: 200, body: '0123456789' }))
    expect(await failureOf(client.read('a', 2, 4))).toMatchObject({ code: 'UNSUPPORTED' })
  })
})
