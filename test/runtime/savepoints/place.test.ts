import { afterEach, describe, expect, it, vi } from 'vitest'
import { openPlace } from '../../../src/runtime/savepoints/place.ts'
import { FakeS3 } from '../../files/s3/fake-s3.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('the place of a savepoint', () => {
  it('is a folder of a bucket, by its URL with the settings of the bucket', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'id')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'key')
    await using s3 = await FakeS3.start()
    const key = 'weir/savepoints/savepoint-1/_metadata'
    s3.objects.set(key, { bytes: Buffer.from('manifest'), metadata: {} })
    for (const end of ['', '/', '/_metadata']) {
      await using place = await openPlace(s3.url(`weir/savepoints/savepoint-1${end}`))
      expect(place.folder).toBe('savepoint-1')
      const files = await place.storage.list(place.folder)
      expect(files).toEqual([{ path: 'savepoint-1/_metadata', bytes: 8 }])
    }
    await using below = await openPlace(s3.url(key), { storage: s3.url('weir') })
    expect(below.folder).toBe('savepoints/savepoint-1')
  })

  it('is a folder of HDFS, by its URL with the settings of the cluster', async () => {
    const url = 'hdfs://127.0.0.1:1/weir/savepoint-1/_metadata?user.name=weir'
    await using place = await openPlace(url)
    expect(place.folder).toBe('savepoint-1')
  })
})
