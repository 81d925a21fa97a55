import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { systemClock } from '../../src/core/clock.ts'
import { seededRandom } from '../../src/core/random.ts'
import { OnnxGraphBuilder } from '../../src/training/gpu/onnx-graph.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import type { Throughput } from '../load/generator.ts'
import { pythonProgram } from '../rivals/python.ts'
import { ChildServer } from '../served/child-server.ts'
import { startModelsOverHttp } from './linear-repository.ts'
import { bytesRequest, CONNECTIONS, overHttp, quantile } from './linear-requests.ts'

const SECONDS = 10
const SIZE = 224
const DECODED_AT_ONCE = 16
const CLASSES = 10
/** Pixels of the photo, as of a picture in a page. */
const PHOTO = { width: 640, height: 480 } as const
const RIVAL = fileURLToPath(new URL('../rivals/fastapi_photo.py', import.meta.url))
const SETTINGS = `slo-ms: 10000
max-batch: 64
queue-capacity: 256
input-bytes: 256 KiB
transforms:
  inputs:
    x: { image: { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } }
  outputs:
    scores: { labels: { file: labels.txt, top: 1 } }
`

/** A photo that compresses as photos do: soft areas of colour with some noise. */
async function photo(): Promise<Buffer> {
  const { width, height } = PHOTO
  const random = seededRandom(224)
  const waves = Array.from({ length: 3 }, () => 20 + random.below(60))
  const pixels = Uint8Array.from({ length: width * height * 3 }, (_, i) => {
    const [channel, at] = [i % 3, Math.floor(i / 3)]
    const wave = waves[channel]!
    const soft = Math.sin((at % width) / wave) + Math.cos(Math.floor(at / width) / wave)
    return Math.round(128 + 50 * soft + 8 * random.normal())
  })
  return await sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 85 })
    .toBuffer()
}

/** Writes a model that scores the mean of each channel, so that the work is that around it; returns its file. */
function writePhotoModel(repository: string): string {
  const graph = new OnnxGraphBuilder()
  const x = graph.input('x', ['n', 3, SIZE, SIZE])
  const means = graph.reshape(graph.add('GlobalAveragePool', [x]), [0, 3])
  const random = seededRandom(10)
  const weights = Float32Array.from({ length: 3 * CLASSES }, () => random.normal())
  const scores = graph.add('MatMul', [means, graph.constant([3, CLASSES], weights)])
  graph.output('scores', scores, { shape: ['n', CLASSES] })
  const version = join(repository, 'photo', '1')
  mkdirSync(version, { recursive: true })
  const file = join(version, 'model.onnx')
  writeFileSync(file, graph.build())
  const labels = Array.from({ length: CLASSES }, (_, i) => `class ${i}\n`).join('')
  writeFileSync(join(version, 'labels.txt'), labels)
  writeFileSync(join(repository, 'photo', 'deployment.yaml'), SETTINGS)
  return file
}

/** A request of the Open Inference Protocol with the photo as it is. */
function photoRequest(jpeg: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(jpeg.length)
  const parameters = { binary_data_size: length.length + jpeg.length }
  const head = JSON.stringify({
    inputs: [{ name: 'x', datatype: 'BYTES', shape: [1], parameters }],
  })
  const headers = {
    'content-type': 'application/octet-stream',
    'inference-header-content-length': String(head.length),
  }
  const body = Buffer.concat([Buffer.from(head), length, jpeg])
  return bytesRequest('/v2/models/photo/infer', headers, body)
}

/** FastAPI with ONNX Runtime and Pillow on the same photo; undefined where it is not installed. */
async function fastApi(
  {
    scratch,
    file,
    jpeg,
  }: { readonly scratch: string; readonly file: string; readonly jpeg: Buffer },
  seconds: number,
  say: (line: string) => void,
): Promise<Throughput | undefined> {
  const copy = join(scratch, 'rival.onnx')
  cpSync(file, copy)
  try {
    await using rival = await ChildServer.start([RIVAL, copy], Number, pythonProgram())
    const type = { 'content-type': 'image/jpeg' }
    return await overHttp(rival.port, bytesRequest('/photo', type, jpeg), seconds)
  } catch (error) {
    say(`no rival: ${String(error)} (pip install fastapi uvicorn onnxruntime numpy pillow)`)
    return undefined
  }
}

/** Photos that the decoder alone brings to the size of the model, in a second: what no server can be above. */
async function decodedPerSecond(jpeg: Buffer, seconds: number): Promise<number> {
  const startMs = systemClock.monotonicMs()
  const passedMs = (): number => systemClock.monotonicMs() - startMs
  let decoded = 0
  const decode = async (): Promise<void> => {
    while (passedMs() < seconds * 1000) {
      await sharp(jpeg).resize(SIZE, SIZE, { fit: 'cover' }).raw().toBuffer()
      decoded += 1
    }
  }
  await Promise.all(Array.from({ length: DECODED_AT_ONCE }, decode))
  return (decoded * 1000) / passedMs()
}

/** `infer-photo`: a JPEG over HTTP to a label. */
export const inferPhotoBenchmark: Benchmark = {
  name: 'infer-photo',
  summary: 'a JPEG of 640 x 480 over HTTP to a label on 64 connections, beside FastAPI with Pillow',
  async run({ scratch, scale, say }) {
    const seconds = SECONDS * scale
    const repository = join(scratch, 'photos')
    const file = writePhotoModel(repository)
    const jpeg = await photo()
    await using models = await startModelsOverHttp(repository)
    const own = await overHttp(models.port, photoRequest(jpeg), seconds)
    models.pause()
    const rival = await fastApi({ scratch, file, jpeg }, seconds, say)
    const decoded = await decodedPerSecond(jpeg, seconds / 2)
    models.resume()
    return [
      {
        name: 'infer-photo',
        value: own.perSecond,
        unit: 'answers/s',
        ...(rival === undefined ? {} : { rival: rival.perSecond }),
        rivalName: 'FastAPI with ONNX Runtime and Pillow',
        targetRatio: 2,
        details: {
          p99Ms: quantile(own, 0.99),
          ...(rival === undefined ? {} : { rivalP99Ms: quantile(rival, 0.99) }),
          connections: CONNECTIONS,
          jpegBytes: jpeg.length,
        },
      },
      {
        name: 'infer-photo-decoder',
        value: own.perSecond,
        unit: 'answers/s',
        rival: decoded,
        rivalName: 'the decoder alone, without a server',
      },
    ]
  },
}
