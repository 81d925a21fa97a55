import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FLINK_POM } from '../../test/services/flink/command-line.ts'
import { mavenClassPath, runTool } from '../../test/services/maven-classpath.ts'
import type { NexmarkQuery } from './nexmark-queries.ts'
import type { NexmarkRate, NexmarkRun } from './nexmark-run.ts'

/** The Debian packages of the Java compiler and the Java runtime. */
const JDK = 'openjdk-17-jdk-headless'
/** Flink with its RocksDB backend. */
export const FLINK_ROCKSDB_POM = join(import.meta.dirname, 'flink/pom.xml')

function configurationOf({ budget }: NexmarkRun, folder: string): Record<string, string> {
  const checkpoints = { 'execution.checkpointing.dir': pathToFileURL(folder).href }
  if (budget === undefined) return { ...checkpoints, 'state.backend.type': 'hashmap' }
  return {
    ...checkpoints,
    'state.backend.type': 'rocksdb',
    'execution.checkpointing.incremental': 'true',
    'state.backend.rocksdb.localdir': join(folder, 'rocksdb'),
    'taskmanager.memory.managed.size': budget,
  }
}

/** A program of the folder `flink`, compiled against the jars of a pom. */
export class FlinkProgram {
  private readonly classPath: string
  private readonly main: string

  private constructor(classPath: string, main: string) {
    this.classPath = classPath
    this.main = main
  }

  /** Compiles a program into a folder. Throws where Java, its compiler or Maven is missing. */
  static async compile(main: string, folder: string, pom: string): Promise<FlinkProgram> {
    const jars = await mavenClassPath(pom)
    const program = join(import.meta.dirname, `flink/${main}.java`)
    mkdirSync(folder, { recursive: true })
    const sources = join(import.meta.dirname, 'flink')
    const compile = ['-nowarn', '-cp', jars, '-sourcepath', sources, '-d', folder, program]
    await runTool('javac', JDK, compile)
    return new FlinkProgram(`${folder}:${jars}`, main)
  }

  /** Runs it with at most so many GB of heap. Returns what it prints. */
  run(args: readonly (string | number)[], heapGb = 3): Promise<string> {
    return runTool('java', JDK, [
      `-Xmx${heapGb}g`,
      '-XX:+UseParallelGC',
      '--add-opens=java.base/java.lang=ALL-UNNAMED',
      '--add-opens=java.base/java.util=ALL-UNNAMED',
      '-cp',
      this.classPath,
      this.main,
      ...args.map(String),
    ])
  }
}

/**
 * Flink 1.20 from Maven: object reuse, in one JVM. Queries have their state on the heap, or in RocksDB with incremental
 * checkpoints.
 */
export class FlinkRival {
  private readonly program: FlinkProgram

  private constructor(program: FlinkProgram) {
    this.program = program
  }

  /** Compiles the queries into a folder. Throws where Java, its compiler or Maven is missing. */
  static async compile(folder: string, pom = FLINK_POM): Promise<FlinkRival> {
    return new FlinkRival(await FlinkProgram.compile('Nexmark', folder, pom))
  }

  /** Runs one query; `folder` gets its checkpoints and its files of RocksDB. */
  async run(run: NexmarkRun, folder: string): Promise<NexmarkRate> {
    const { query, warmUpSeconds, warmUpEvents, warmUpLimitSeconds, measuredSeconds, spread } = run
    const configuration = Object.entries(configurationOf(run, folder))
    const output = await this.program.run([
      ...[query, warmUpSeconds, warmUpEvents, warmUpLimitSeconds, measuredSeconds, spread],
      ...configuration.map(([key, value]) => `${key}=${value}`),
    ])
    return JSON.parse(output) as NexmarkRate
  }

  /** The rows of each query on the first events, in one subtask: the fields of a row, joined by commas. */
  async rows(
    queries: readonly NexmarkQuery[],
    events: number,
    folder: string,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const file = join(folder, 'rows')
    await this.program.run(['rows', events, file, ...queries])
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const prefixed = queries.map((query) => [query, `${query},`] as const)
    return new Map(
      prefixed.map(([query, prefix]) => [
        query,
        lines.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length)),
      ]),
    )
  }
}
