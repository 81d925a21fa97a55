import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { BENCHMARKS } from './benchmarks.ts'
import type { Benchmark, Figure } from './harness/benchmark.ts'
import { Workspace } from './harness/workspace.ts'

/** `npm run bench [-- NAME...] [--json] [--scale X]`: runs benchmarks one after the other. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    scale: { type: 'string', default: '1' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

const machine = `${availableParallelism()} x ${cpus()[0]?.model ?? 'cpu'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}

/** Whether target and ratio are reached; null when there are none, or when the rival is missing. */
function met(figure: Figure): boolean | null {
  const { value, target, rival, targetRatio } = figure
  const reaches = (reached: number, wanted: number): boolean =>
    figure.higher === false ? reached <= wanted : reached >= wanted
  if (target !== undefined && !reaches(value, target)) return false
  if (targetRatio === undefined) return target === undefined ? null : true
  return rival === undefined ? null : reaches(value / rival, targetRatio)
}

function line(figure: Figure): string {
  const ratio = figure.rival === undefined ? null : round(figure.value / figure.rival)
  return JSON.stringify({
    name: figure.name,
    value: round(figure.value),
    unit: figure.unit,
    target: figure.target ?? null,
    met: met(figure),
    rival: figure.rival === undefined ? null : round(figure.rival),
    rivalName: figure.rivalName ?? null,
    ratio,
    ...(figure.targetRatio === undefined ? {} : { targetRatio: figure.targetRatio }),
    ...(figure.details === undefined ? {} : { details: figure.details }),
    scale: Number(values.scale),
    machine,
    commit: commit(),
  })
}

function sentence(figure: Figure): string {
  const { name, unit, value, target, rival, targetRatio } = figure
  const verdict = met(figure) === null ? '' : met(figure) === true ? '  met' : '  NOT MET'
  const bound = figure.higher === false ? 'at most' : 'at least'
  const wanted = target === undefined ? '' : `  (target ${bound} ${target})`
  const wantedRatio = targetRatio === undefined ? '' : `, target ${bound} ${targetRatio}`
  const beside =
    rival === undefined
      ? ''
      : `  ${figure.rivalName ?? 'rival'}: ${round(rival)} (x ${round(value / rival)}${wantedRatio})`
  return `${name.padEnd(26)} ${String(round(value)).padStart(12)} ${unit}${wanted}${beside}${verdict}`
}

function round(value: number): number {
  return Number(value.toPrecision(4))
}

async function runOne(benchmark: Benchmark, workspace: Workspace): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'weir-bench-'))
  try {
    say(`-- ${benchmark.name}`)
    const figures = await benchmark.run({ scale: Number(values.scale), scratch, workspace, say })
    for (const figure of figures) console.log(values.json ? line(figure) : sentence(figure))
  } catch (error) {
    // The other benchmarks still run.
    failed += 1
    say(`${benchmark.name} failed: ${error instanceof Error ? error.stack : String(error)}`)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

let failed = 0
const known = BENCHMARKS.flatMap((benchmark) => [benchmark, ...(benchmark.parts ?? [])])
const chosen =
  positionals.length === 0 ? BENCHMARKS : known.filter(({ name }) => positionals.includes(name))
if (values.help || values.list) {
  console.log('npm run bench -- [NAME...] [--json] [--scale 0.1]\n')
  for (const { name, summary } of known) console.log(`${name.padEnd(22)} ${summary}`)
  process.exit(0)
}
const unknown = positionals.filter((name) => !known.some((entry) => entry.name === name))
if (unknown.length > 0) {
  say(`unknown benchmark ${unknown.join(', ')}; --list shows them`)
  process.exit(2)
}
if (!(Number(values.scale) > 0 && Number(values.scale) <= 1)) {
  say(`--scale is above 0 and at most 1, not ${values.scale}`)
  process.exit(2)
}
const shared = mkdtempSync(join(tmpdir(), 'weir-bench-shared-'))
process.on('exit', () => rmSync(shared, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
{
  await using workspace = new Workspace(shared, say)
  for (const benchmark of chosen) await runOne(benchmark, workspace)
}
process.exit(failed > 0 ? 1 : 0)
