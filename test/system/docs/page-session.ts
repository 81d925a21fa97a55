import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freePorts } from '../../services/free-port.ts'
import { CommandProcess, type CommandResult, REPOSITORY } from '../cli/command-process.ts'

/*
 * Runs the commands of a guide page, `$ ...` in its code blocks, in their order in one shell. A block that
 * cannot run here follows a line `<!-- not run: REASON -->` in the page's source, and the reason is printed.
 * A command under which the page shows `weir: CODE: ...` or `... (CODE)` must fail with that code.
 */

/** What a page shows of a command that fails: a code, or why a candidate stays one. */
const FAILURE = /^weir: ([A-Z_]+): |\(([A-Z]+_[A-Z_]+)\)$|(was not promoted)/m

/** A command of a page, with what its failure prints if the page shows one. */
export interface PageCommand {
  readonly command: string
  readonly code?: string
}

/** The commands of a page. */
export function commandsOf(page: string): readonly PageCommand[] {
  const blocks = page.matchAll(/(?:<!-- not run: (.*?) -->\n\s*)?^```(?:sh)?\n([\s\S]*?)^```$/gm)
  return [...blocks].flatMap(([, reason, body]) => {
    const steps = [...body!.matchAll(/^\$ ((?:.*\\\n)*.*)\n([\s\S]*?)(?=^\$ |(?![\s\S]))/gm)]
    if (reason !== undefined) {
      for (const [, command] of steps) console.log(`not run: ${command}: ${reason}`)
      return []
    }
    return steps.map(([, command, shown]) => {
      const code = FAILURE.exec(shown!)
        ?.slice(1)
        .find((text) => text !== undefined)
      return { command: command!, ...(code === undefined ? {} : { code }) }
    })
  })
}

/**
 * The lines of the session for a command. A job runs beside the commands that follow, until the next one; a
 * job of histories runs beside it. A gateway runs until the next one.
 */
function linesOf({ command, code }: PageCommand): string {
  const beside = command.replace(/\s*&$/, '')
  if (command.startsWith('weir run histories ')) return `start_beside histories ${beside}`
  if (command.startsWith('weir gateway ')) {
    return `start_beside gateway ${beside} --listen 127.0.0.1:8080`
  }
  if (/^weir (run|learn) /.test(command)) {
    return `stop_jobs\n${beside} > job.log 2>&1 &\nwait_until_live`
  }
  // A topic is read by a job some time after it was written.
  if (command.startsWith('curl ')) return command.replace('curl ', 'ask ')
  if (command.includes(' | curl ')) return command.replace('curl ', 'curl -sSf ')
  if (code === undefined) {
    // A busy machine may be slower than a candidate has to be.
    return command.replace(/^weir retrain .*/, '$& --max-latency 10000')
  }
  return `if ${command} > refused 2>&1; then echo 'it must fail'; exit 1; fi\ncat refused >&2\ngrep -q '${code}' refused`
}

const PRELUDE = `
set -eux -o pipefail
stop_jobs() { for job in $(jobs -p); do kill "$job" || true; done; wait || true; }
trap stop_jobs EXIT
wait_until_live() {
  for i in $(seq 600); do
    if grep -q 'is live' job.log; then return 0; fi
    sleep 0.1
  done
  cat job.log
  return 1
}
start_beside() {
  name=$1; shift
  if [ -f $name.pid ]; then kill "$(cat $name.pid)"; wait "$(cat $name.pid)" || true; fi
  "$@" > $name.log 2>&1 &
  echo $! > $name.pid
  for i in $(seq 600); do
    if grep -q 'serving' $name.log; then return 0; fi
    sleep 0.1
  done
  cat $name.log
  return 1
}
ask() {
  for i in $(seq 150); do
    if curl -sSf "$@"; then return 0; fi
    sleep 0.2
  done
  cat *.log
  return 1
}`

/** The source of a page of the guide. */
export function guidePage(name: string): string {
  return readFileSync(join(REPOSITORY, 'docs/guide', name), 'utf8')
}

/** Runs commands of a page in a new folder, after `before`. */
export async function runSession(
  folder: string,
  commands: readonly PageCommand[],
  before: string,
): Promise<CommandResult> {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  const main = join(REPOSITORY, 'src/cli/main.ts')
  const start = `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`
  writeFileSync(join(bin, 'weir'), start, { mode: 0o755 })
  const script = join(folder, 'session.sh')
  const [query, http, histories] = await freePorts(3)
  const text = [PRELUDE, before, ...commands.map(linesOf)].join('\n')
  const ports = text
    .replace(/:8080(?!\d)/g, `:${http}`)
    .replace(/(?<!\d)9070(?!\d)/g, `${histories}`)
  writeFileSync(script, ports)
  await using session = new CommandProcess('bash', [script], {
    cwd: folder,
    env: {
      PATH: `${bin}:${dirname(process.execPath)}:${process.env['PATH']}`,
      WEIR_PORT: String(query),
      WEIR_REST_ENABLED: 'false',
    },
  })
  return await session.ended
}
