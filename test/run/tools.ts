import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Options of {@link runTools}. */
export interface ToolOptions {
  readonly cwd: string
  /** Variables besides those of this process. */
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * Runs commands at the same time and returns 0, or the exit code of one that failed. The output of one command goes
 * to the terminal as it comes; that of several is printed when each ends, and not mixed.
 */
export async function runTools(
  commands: readonly (readonly string[])[],
  options: ToolOptions,
): Promise<number> {
  const stdio = commands.length === 1 ? 'inherit' : 'pipe'
  const codes = await Promise.all(commands.map((command) => run(command, stdio, options)))
  return codes.find((code) => code !== 0) ?? 0
}

async function run(
  [program, ...words]: readonly string[],
  stdio: 'inherit' | 'pipe',
  { cwd, environment }: ToolOptions,
): Promise<number> {
  const startMs = performance.now()
  const env = { ...process.env, ...environment }
  const child = spawn(program!, words, { cwd, env, stdio: ['inherit', stdio, stdio] })
  const said: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => said.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => said.push(chunk))
  // The group of the terminal gets Ctrl-C: the child ends by itself, and then this process.
  const ignore = (): void => undefined
  process.on('SIGINT', ignore)
  const [code] = (await once(child, 'close')) as [number | null]
  process.off('SIGINT', ignore)
  if (stdio === 'pipe') {
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
    process.stdout.write(`${[program, ...words].join(' ')}: ${seconds} s\n${Buffer.concat(said)}`)
  }
  return code ?? 1
}
