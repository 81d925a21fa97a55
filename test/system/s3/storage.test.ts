import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { S3CheckpointStorage } from '../../../src/runtime/checkpoint/storage/s3.ts'
import { checkpointStorageContract } from '../../contracts/checkpoint-storage.ts'
import { needs } from '../../run/needs.ts'
import { type SharedS3, sharedS3 } from '../../services/lending/s3.ts'
import { motoPython } from '../../services/moto-server.ts'

const python = await motoPython()
const credentials = { accessKeyId: 'id', secretAccessKey: 'key' }
let server: SharedS3
let folders = 0

describe('checkpoints in S3', needs(python, 'no Python with moto'), () => {
  beforeAll(async () => {
    server = await sharedS3()
    await server.bucket('checkpoints')
  })

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })

  const newUrl = (): string => server.storageUrl(`checkpoints/folder-${folders++}`)

  checkpointStorageContract('S3CheckpointStorage', async () => {
    const url = newUrl()
    const reopen = () => new S3CheckpointStorage(url, { credentials })
    return { storage: reopen(), reopen }
  })

  it('x', async () => {
    expect(1).toBe(1)
  })
})
