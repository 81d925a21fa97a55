import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { flinkClassPath } from '../../test/services/flink/command-line.ts'
import { runTool } from '../../test/services/maven-classpath.ts'
import type { NexmarkQuery } from './nexmark-queries.ts'

/** The Debian packages of the Java compiler and the Java runtime. */
const JDK = 'openjdk-17-jdk-headless'

/** What one side measured. */
export interface NexmarkRate {
  readonly eventsPerSecond: number
  /** Of the whole process, with compilation and garbage collection. */
  readonly cpuSecondsPerMillion: number
}

/** How long a query runs, in seconds. */
export interface NexmarkTimes {
  readonly warmUp: number
  readonly measured: number
}

/** Flink 1.20 from Maven: heap state, object reuse, in one JVM. */
export class FlinkRival {
  private readonly classPath: string

  private constructor(classPath: string) {
    this.classPath = classPath
  }

  /** Compiles the queries into a folder. Throws where Java, its compiler or Maven is missing. */
  static async compile(folder: string): Promise<FlinkRival> {
    const jars = await flinkClassPath()
    const program = join(import.meta.dirname, 'flink/Nexmark.java')
    mkdirSync(folder, { recursive: true })
    await runTool('javac', JDK, ['-nowarn', '-cp', jars, '-d', folder, program])
    return new FlinkRival(`${folder}:${jars}`)
  }

  /** Runs one query; `folder` gets its checkpoints. */
  async run(query: NexmarkQuery, times: NexmarkTimes, folder: string): Promise<NexmarkRate> {
    const { warmUp, measured } = times
    const output = await this.java([query, warmUp, measured, pathToFileURL(folder).href])
    return JSON.parse(output) as NexmarkRate
  }

  /** The rows of each query on the first events, in one subtask: the fields of a row, joined by commas. */
  async rows(
    queries: readonly NexmarkQuery[],
    events: number,
    folder: string,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const file = join(folder, 'rows')
    await this.java(['rows', events, file, ...queries])
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    const prefixed = queries.map((query) => [query, `${query},`] as const)
    return new Map(
      prefixed.map(([query, prefix]) => [
        query,
        lines.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length)),
      ]),
    )
  }

  private java(args: readonly (string | number)[]): Promise<string> {
    return runTool('java', JDK, [
      '-Xmx3g',
      '-XX:+UseParallelGC',
      '--add-opens=java.base/java.lang=ALL-UNNAMED',
      '--add-opens=java.base/java.util=ALL-UNNAMED',
      '-cp',
      this.classPath,
      'Nexmark',
      ...args.map(String),
    ])
  }
}
