import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Benchmark, BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import type { Throughput } from '../load/generator.ts'
import { pythonProgram } from '../rivals/python.ts'
import { ChildServer } from '../served/child-server.ts'
import { startModelsOverHttp, writeRepository } from './linear-repository.ts'
import {
  binaryRequest,
  CONNECTIONS,
  jsonRequest,
  matrixJsonRequest,
  overHttp,
  quantile,
  rawRequest,
} from './linear-requests.ts'

const SECONDS = 5

/** A server that people use instead of Weir, with the request that it takes. */
interface InferenceRival {
  readonly name: string
  readonly title: string
  /** What to install. */
  readonly packages: string
  /** File in `benchmarks/rivals` that starts it and prints its port. */
  readonly script: string
  readonly request: () => string
  /** The same floats in Weir's request: bytes beside bytes, JSON beside JSON. */
  readonly own: 'binary' | 'json'
  readonly targetRatio: number
}

const RIVALS: readonly InferenceRival[] = [
  {
    name: 'bentoml',
    title: 'BentoML, adaptive batching, JSON',
    packages: 'bentoml onnxruntime',
    script: 'bentoml_linear.py',
    request: matrixJsonRequest,
    own: 'json',
    targetRatio: 4,
  },
  {
    name: 'ray',
    title: 'Ray Serve, batching, raw bytes',
    packages: '"ray[serve]" onnxruntime',
    script: 'ray_linear.py',
    request: () => rawRequest('/infer'),
    own: 'binary',
    targetRatio: 4,
  },
  {
    name: 'mlserver',
    title: 'MLServer, adaptive batching, JSON',
    packages: 'mlserver onnxruntime',
    script: 'mlserver_linear.py',
    request: jsonRequest,
    own: 'json',
    targetRatio: 4,
  },
  {
    name: 'triton',
    title: 'Triton, dynamic batcher, binary tensors',
    packages: 'nvidia-pytriton onnxruntime',
    script: 'triton_linear.py',
    request: binaryRequest,
    own: 'binary',
    targetRatio: 2,
  },
]

/** The rival's rate; undefined where it is not installed or does not start, with the reason said. */
async function measure(
  rival: InferenceRival,
  { file, seconds, say }: RivalRun,
): Promise<Throughput | undefined> {
  const script = fileURLToPath(new URL(`../rivals/${rival.script}`, import.meta.url))
  const program = pythonProgram(rival.name)
  try {
    await using server = await ChildServer.start([script, file], portIn, program)
    return await overHttp(server.port, rival.request(), seconds)
  } catch (error) {
    say(`no ${rival.name}: ${program}: ${String(error)} (pip install ${rival.packages})`)
    return undefined
  }
}

interface RivalRun {
  readonly file: string
  readonly seconds: number
  readonly say: (line: string) => void
}

/** The port in a line of nothing but digits: servers print other lines, too. */
const portIn = (line: string): number | undefined =>
  /^[0-9]+$/.test(line.trim()) ? Number(line) : undefined

async function figureOf(
  rival: InferenceRival,
  { scratch, scale, say }: Pick<BenchmarkOptions, 'scratch' | 'scale' | 'say'>,
): Promise<Figure> {
  const seconds = SECONDS * scale
  const repository = join(scratch, 'models')
  const file = writeRepository(repository, scratch)
  await using models = await startModelsOverHttp(repository)
  const request = rival.own === 'binary' ? binaryRequest() : jsonRequest()
  const own = await overHttp(models.port, request, seconds)
  models.pause()
  const other = await measure(rival, { file, seconds, say })
  models.resume()
  return {
    name: `infer-rivals-${rival.name}`,
    value: own.perSecond,
    unit: 'answers/s',
    ...(other === undefined ? {} : { rival: other.perSecond }),
    rivalName: rival.title,
    targetRatio: rival.targetRatio,
    details: {
      p99Ms: quantile(own, 0.99),
      connections: CONNECTIONS,
      ...(other === undefined ? {} : { rivalP99Ms: quantile(other, 0.99) }),
    },
  }
}

/** `infer-rivals`: 784 floats over HTTP, beside the servers that are installed. */
export const inferRivalsBenchmark: Benchmark = {
  name: 'infer-rivals',
  summary: 'a linear model of 784 floats over HTTP beside BentoML, Ray Serve, MLServer and Triton',
  async run(options) {
    const figures: Figure[] = []
    for (const rival of RIVALS) figures.push(await figureOf(rival, options))
    return figures
  },
  parts: RIVALS.map((rival) => ({
    name: `infer-rivals-${rival.name}`,
    summary: `a linear model of 784 floats over HTTP beside ${rival.title}`,
    run: async (options) => [await figureOf(rival, options)],
  })),
}
