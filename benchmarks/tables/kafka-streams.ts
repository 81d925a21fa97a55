import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { mavenClassPath, runTool } from '../../test/services/maven-classpath.ts'

/** The Debian package of the Java compiler and the Java runtime. */
const JDK = 'openjdk-17-jdk-headless'
const FOLDER = join(import.meta.dirname, 'kafka-streams')

/** What a program took for a result, behind the first fifth of them. */
export interface TableCosts {
  readonly us: number
  /** Of the processors, for the process alone. */
  readonly cpuUs: number
  /** Records that found no row. */
  readonly unmatched: number
}

/** Kafka Streams 4.3.1 from Maven: two threads, stores in memory without a cache, its defaults for the rest. */
export class KafkaStreamsRival {
  private readonly classPath: string

  private constructor(classPath: string) {
    this.classPath = classPath
  }

  /** Compiles the programs into a folder. Throws where Java, its compiler or Maven is missing. */
  static async compile(scratch: string): Promise<KafkaStreamsRival> {
    const jars = await mavenClassPath(join(FOLDER, 'pom.xml'))
    const classes = join(scratch, 'kafka-streams')
    mkdirSync(classes, { recursive: true })
    const program = join(FOLDER, 'Tables.java')
    await runTool('javac', JDK, ['-nowarn', '-cp', jars, '-d', classes, program])
    return new KafkaStreamsRival(`${classes}:${jars}`)
  }

  /** Runs a program until it has so many results; `scratch` gets its files. */
  async run(
    program: string,
    { brokers, results, scratch }: { brokers: string; results: number; scratch: string },
  ): Promise<TableCosts> {
    const files = mkdtempSync(join(scratch, 'streams-'))
    const heap = ['-Xmx3g', '-XX:+UseParallelGC']
    const args = [...heap, '-cp', this.classPath, 'Tables', program, brokers, `${results}`, files]
    return JSON.parse(await runTool('java', JDK, args)) as TableCosts
  }
}
