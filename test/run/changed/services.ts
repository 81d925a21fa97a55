import { distancesTo, isTestFile } from './distances.ts'
import type { Edge } from './file-graph.ts'

/** A program or machine outside of Weir that tests run against. */
export interface Service {
  readonly name: string
  /** Beginnings of the paths of the code that talks to it. */
  readonly users: readonly string[]
  /** Beginnings of the paths of what starts it: modules that tests import, or the tests themselves. */
  readonly starts: readonly string[]
}

/** The services of the tests. */
export const SERVICES: readonly Service[] = [
  {
    name: 'Kafka',
    users: ['src/connectors/kafka/', 'src/cli/flags/kafka.ts', 'verify/kafka/'],
    starts: ['test/services/kafka/broker.ts', 'test/services/lending/kafka.ts'],
  },
  {
    name: 'HDFS',
    users: [
      'src/files/webhdfs/',
      'src/connectors/file/hdfs',
      'src/runtime/checkpoint/storage/hdfs',
    ],
    starts: ['test/services/hdfs-cluster.ts', 'test/services/lending/hdfs.ts'],
  },
  {
    name: 'S3',
    users: ['src/files/s3/', 'src/runtime/checkpoint/storage/s3'],
    starts: ['test/services/s3/moto-server.ts', 'test/services/lending/s3.ts'],
  },
  {
    name: 'browser',
    users: [
      'dashboard/',
      'src/cluster/rest/server/dashboard-files.ts',
      'src/gateway/http/openapi.ts',
    ],
    starts: ['test/services/lending/browser.ts', 'node_modules/playwright-core'],
  },
  {
    name: 'ONNX Runtime',
    users: ['src/inference/'],
    starts: ['test/system/inference/'],
  },
  {
    name: 'GPU',
    users: ['src/training/gpu/', 'src/training/als/gpu/', 'src/training/bmf/gpu/'],
    starts: ['test/system/training/gpu-', 'test/services/software-gpu.ts'],
  },
  {
    name: "Flink's clients",
    users: ['src/cluster/rest/', 'src/cluster/jobmanager/'],
    starts: ['test/services/flink/'],
  },
  {
    name: 'Prometheus',
    users: ['src/core/prometheus/', 'src/cluster/rest/prometheus/', 'monitoring/'],
    starts: ['test/services/promtool.ts'],
  },
  {
    name: 'clients in Python',
    users: ['src/gateway/inference/', 'src/serving/server/', 'src/wire/'],
    starts: ['test/services/python-packages.ts', 'test/system/serving/query-python.test.ts'],
  },
]

/** The services that changed files talk to. */
export function servicesOf(
  changed: readonly string[],
  services: readonly Service[] = SERVICES,
): readonly Service[] {
  return services.filter(({ users }) => changed.some((file) => beginsWith(file, users)))
}

/** The test files that start a service: those that start it themselves, or with another file of the tests. */
export function testsThatStart({ starts }: Service, edges: readonly Edge[]): ReadonlySet<string> {
  const ofTests = edges.filter(({ from }) => from.startsWith('test/') || from.startsWith('verify/'))
  const starting = new Set(ofTests.flatMap(({ from, to }) => [from, to]))
  const own = [...starting].filter((place) => beginsWith(place, starts))
  return new Set([...distancesTo(own, ofTests).keys()].filter(isTestFile))
}

function beginsWith(path: string, beginnings: readonly string[]): boolean {
  return beginnings.some((beginning) => path.startsWith(beginning))
}
