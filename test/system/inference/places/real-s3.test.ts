import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../../src/cli/run-command-line.ts'
import { recordedIo } from '../../../cli/recorded-io.ts'
import { needs } from '../../../run/needs.ts'
import { MotoServer, motoPython } from '../../../services/s3/moto-server.ts'

const python = await motoPython()

/** Writes a bucket with boto3, the client of AWS: its uploads have the checksums that it states by default. */
const FILL = `
import sys, boto3
from boto3.s3.transfer import TransferConfig
url, file = sys.argv[1:]
s3 = boto3.client('s3', endpoint_url=url, region_name='us-east-1', aws_access_key_id='id', aws_secret_access_key='key')
s3.create_bucket(Bucket='models')
s3.upload_file(file, 'models', 'nets/with blanks+and%/net.onnx')
s3.put_object(Bucket='models', Key='nets/with blanks+and%/labels.txt', Body=b'a', ChecksumAlgorithm='SHA256')
parts = TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20)
import io
s3.upload_fileobj(io.BytesIO(bytes(i % 251 for i in range(6 << 20))), 'models', 'nets/with blanks+and%/large.dat', Config=parts)
`

describe('a bucket of moto that boto3 has filled', needs(python, 'no Python with moto'), () => {
  const net = resolve('test/inference/onnx/files/sk-linreg.onnx')
  let folder: string
  let server: MotoServer
  let url: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-moto-'))
    server = await MotoServer.start(python!)
    url = server.url
    const fill = spawn(python!, ['-c', FILL, url, net], { stdio: 'inherit' })
    expect(await once(fill, 'exit')).toEqual([0, null])
  })
  afterAll(async () => {
    await server?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function push(address: string, name: string) {
    const env = { AWS_ENDPOINT_URL: url, AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'key' }
    const { io, out, err } = recordedIo({ env })
    const argv = ['model', 'push', address, '--name', name, '--repository', folder, '--json']
    const code = await runCommandLine(argv, io)
    return { code, err: err.join('\n'), pushed: JSON.parse(out.join('') || '{}') }
  }

  it('gives a version with the bytes that boto3 wrote, and says what has no checksum', async () => {
    const { err, pushed } = await push('s3://models/nets/with blanks+and%/', 'net')
    expect(err.replaceAll(/reading the model.*\n?/g, '')).toBe('')
    expect(pushed).toMatchObject({ version: 1, files: 3, unchecked: ['large.dat'], leftOut: [] })
    expect(await readFile(join(folder, 'net/1/model.onnx'))).toEqual(await readFile(net))
    const large = await readFile(join(folder, 'net/1/large.dat'))
    expect(large).toEqual(Buffer.from(Uint8Array.from({ length: 6 << 20 }, (_, at) => at % 251)))
  })

  it('gives one file', async () => {
    const { pushed } = await push('s3://models/nets/with blanks+and%/net.onnx', 'one')
    expect(pushed).toMatchObject({ files: 1, unchecked: [] })
  })

  it('says what is not there', async () => {
    expect((await push('s3://models/none/', 'net')).err).toContain('does not exist or is empty')
    expect((await push('s3://nothing/none/', 'net')).err).toContain('has no list of s3://nothing/')
  })
})
