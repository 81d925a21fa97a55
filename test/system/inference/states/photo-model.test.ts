import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { until } from '../../../run/until.ts'
import { weir } from '../../cli/command-process.ts'

let folder: string
let root: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-photo-'))
  root = join(folder, 'models')
})

afterEach(() => rm(folder, { recursive: true }))

/** Bytes of a protobuf field: a number, a text, or a message. */
function field(number: number, value: number | string | Uint8Array): Buffer {
  if (typeof value === 'number') return Buffer.from([number * 8, value])
  const bytes = Buffer.from(value)
  const length =
    bytes.length < 128 ? [bytes.length] : [128 | (bytes.length & 127), bytes.length >> 7]
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes])
}

const message = (...fields: readonly Buffer[]): Buffer => Buffer.concat(fields)

/** A value of floats; 0 is a size of any name. */
function valueInfo(name: string, shape: readonly number[]): Buffer {
  const sizes = shape.map((size) => field(1, size === 0 ? field(2, 'n') : field(1, size)))
  const type = message(field(1, 1), field(2, message(...sizes)))
  return message(field(1, name), field(2, field(1, type)))
}

/**
 * A model whose weights are in `weights.bin`: scores [n, 3] of images x [n, 3, 1, 1] are their channels times the weights.
 */
function photoModel(): Buffer {
  const node = (operation: string, inputs: readonly string[], output: string): Buffer =>
    field(1, message(...inputs.map((one) => field(1, one)), field(2, output), field(4, operation)))
  const location = message(field(1, 'location'), field(2, 'weights.bin'))
  const weights = message(
    field(1, 3),
    field(1, 3),
    field(2, 1),
    field(8, 'w'),
    field(13, location),
    field(14, 1),
  )
  const graph = message(
    node('Flatten', ['x'], 'flat'),
    node('MatMul', ['flat', 'w'], 'scores'),
    field(2, 'photo'),
    field(5, weights),
    field(11, valueInfo('x', [0, 3, 1, 1])),
    field(12, valueInfo('scores', [0, 3])),
  )
  return message(field(1, 8), field(7, graph), field(8, message(field(1, ''), field(2, 13))))
}

/** A folder with the model, its weights and its labels; each channel has a label. */
async function photoFolder(): Promise<string> {
  const photo = join(folder, 'photo')
  await mkdir(join(photo, 'notes'), { recursive: true })
  await writeFile(join(photo, 'photo.onnx'), photoModel())
  const identity = Float32Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1)
  await writeFile(join(photo, 'weights.bin'), new Uint8Array(identity.buffer))
  await writeFile(join(photo, 'labels.txt'), 'tomato\nleaf\nsky\n')
  await writeFile(join(photo, 'notes', 'card.md'), '# Colours\n')
  await writeFile(join(photo, '.hidden'), '')
  return photo
}

const SETTINGS = `slo-ms: 30000
transforms:
  inputs:
    x: { image: { fit: cover } }
  outputs:
    scores: { labels: { file: labels.txt, top: 2 } }
`

it('a folder becomes a version with all of its files, whose checksums are looked at before it is loaded', async () => {
  const photo = await photoFolder()
  await expect(
    pushModel(nodeFileSystem, { root, name: 'photo', file: join(photo, 'photo.onnx') }),
  ).rejects.toMatchObject({
    code: 'FILE_NOT_FOUND',
    message: expect.stringContaining('are in weights.bin'),
  })
  const pushed = await weir(['model', 'push', photo, '--name', 'photo', '--repository', root]).ended
  expect(pushed.stdout).toMatch(/^pushed version 1 of photo: 4 files, \d+ bytes/)
  const version = join(root, 'photo', '1')
  expect((await readdir(version, { recursive: true })).sort()).toEqual([
    'labels.txt',
    'manifest.json',
    'model.onnx',
    'notes',
    'notes/card.md',
    'weights.bin',
  ])
  await writeFile(join(version, 'weights.bin'), new Uint8Array(36))
  await using models = await ModelsProcess.start({
    repository: root,
    port: 0,
    engine: openInferenceEngine(),
  })
  expect(models.list()[0]!.info.problems[0]).toMatch(/weights.bin has another checksum/)
})

it('a photo is sent as it is, and its labels are answered', async () => {
  const photo = await photoFolder()
  await pushModel(nodeFileSystem, { root, name: 'photo', file: photo })
  await writeFile(join(root, 'photo', 'deployment.yaml'), SETTINGS)
  await using models = await ModelsProcess.start({
    repository: root,
    port: 0,
    engine: openInferenceEngine(),
  })
  const { info } = models.list()[0]!
  expect(info.problems).toEqual([])
  expect(info.inputs).toMatchObject([{ name: 'x', datatype: 'BYTES', shape: [-1] }])
  const size = { width: 40, height: 30, channels: 3 } as const
  const images = { red: '#e01010', green: '#08d020' }
  for (const [name, background] of Object.entries(images)) {
    const image = sharp({ create: { ...size, background } })
    await writeFile(join(folder, `${name}.jpg`), await image.jpeg().toBuffer())
  }
  const paths = ['red', 'green'].map((name) => join(folder, `${name}.jpg`))
  const port = ['--port', String(models.port)]
  const asked = await weir(['infer', 'photo', ...paths, ...port]).ended
  expect({ code: asked.code, stderr: asked.stderr }).toEqual({ code: 0, stderr: '' })
  expect(asked.stdout).toMatch(/scores_label {2}BYTES \[2, 2\] {2}tomato \w+ leaf \w+/)
  const wrong = await weir(['infer', 'photo', join(folder, 'photo', 'labels.txt'), ...port]).ended
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('image 0 cannot be decoded')
  expect(await readFile(join(root, 'photo', '1', 'labels.txt'), 'utf8')).toContain('leaf')
})

it('a transform that does not fit the model says so with the nearest name', async () => {
  const photo = await photoFolder()
  await pushModel(nodeFileSystem, { root, name: 'photo', file: photo })
  const settings = 'transforms: { outputs: { score: { labels: labels.txt } } }\n'
  await writeFile(join(root, 'photo', 'deployment.yaml'), settings)
  await using models = await ModelsProcess.start({
    repository: root,
    port: 0,
    engine: openInferenceEngine(),
  })
  expect(models.list()[0]!.info.problems).toEqual([
    'transforms: the model has no output "score"; did you mean "scores"?',
  ])
  await writeFile(join(root, 'photo', 'deployment.yaml'), SETTINGS)
  await until('the model is live with right settings', () => {
    return models.list()[0]!.info.liveVersion === 1
  })
})
