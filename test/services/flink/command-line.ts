import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { mavenClassPath } from '../maven-classpath.ts'

/** Flink's client, its dashboard and what a small cluster in one process needs. */
export const FLINK_POM: string = join(import.meta.dirname, 'pom.xml')
const run = promisify(execFile)

/** The jars of Flink's client and of its dashboard; Maven downloads them at the first use. */
export function flinkClassPath(): Promise<string> {
  return mavenClassPath(FLINK_POM)
}

/** What Flink's command-line client printed. */
export interface FlinkOutput {
  readonly code: number
  readonly text: string
}

/** Flink's own command-line client, unmodified, with an empty configuration. */
export class FlinkClient implements Disposable {
  private readonly classPath: string
  private readonly configuration: string

  private constructor(classPath: string) {
    this.classPath = classPath
    this.configuration = mkdtempSync(join(tmpdir(), 'weir-flink-'))
    writeFileSync(join(this.configuration, 'config.yaml'), '{}\n')
  }

  static async open(): Promise<FlinkClient> {
    return new FlinkClient(await flinkClassPath())
  }

  /** Runs `flink` with these words. */
  async run(...words: readonly string[]): Promise<FlinkOutput> {
    const args = [
      '-Xmx256m',
      '--add-opens=java.base/java.lang=ALL-UNNAMED',
      '--add-opens=java.base/java.util=ALL-UNNAMED',
      '-cp',
      this.classPath,
      'org.apache.flink.client.cli.CliFrontend',
      ...words,
    ]
    const env = { ...process.env, FLINK_CONF_DIR: this.configuration }
    try {
      const { stdout, stderr } = await run('java', args, { env })
      return { code: 0, text: stdout + stderr }
    } catch (error) {
      const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string }
      if (typeof code !== 'number') throw error
      return { code, text: stdout + stderr }
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.configuration, { recursive: true, force: true })
  }
}
