import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Benchmark, Figure } from './benchmark.ts'
import { BENCHMARKS } from './benchmarks.ts'

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

function met(figure: Figure): boolean | null {
  if (figure.target === undefined) return null
  return figure.higher === false ? figure.value <= figure.target : figure.value >= figure.target
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
    ...(figure.details === undefined ? {} : { details: figure.details }),
    scale: Number(values.scale),
    machine,
    commit: commit(),
  })
}

function sentence(figure: Figure): string {
  const verdict = met(figure) === null ? '' : met(figure) === true ? '  met' : '  NOT MET'
  const target =
    figure.target === undefined
      ? ''
      : `  (target ${figure.higher === false ? 'at most' : 'at least'} ${figure.target})`
  const rival =
    figure.rival === undefined ? '' : `  ${figure.rivalName ?? 'rival'}: ${round(figure.rival)}`
  return `${figure.name.padEnd(26)} ${String(round(figure.value)).padStart(12)} ${figure.unit}${target}${rival}${verdict}`
}

function round(value: number): number {
  return Number(value.toPrecision(4))
}

async function runOne(benchmark: Benchmark): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'weir-bench-'))
  try {
    const figures = await benchmark.run({
      scale: Number(values.scale),
      scratch,
      say: (text) => process.stderr.write(`${text}\n`),
    })
    for (const figure of figures) console.log(values.json ? line(figure) : sentence(figure))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

if (values.help || values.list) {
  console.log('npm run bench -- [NAME...] [--json] [--scale 0.1]\n')
  for (const { name, summary } of BENCHMARKS) console.log(`${name.padEnd(22)} ${summary}`)
  process.exit(0)
}
const unknown = positionals.filter((name) => !BENCHMARKS.some((entry) => entry.name === name))
if (unknown.length > 0) {
  console.error(`unknown benchmark ${unknown.join(', ')}; --list shows them`)
  process.exit(2)
}
for (const benchmark of BENCHMARKS) {
  if (positionals.length === 0 || positionals.includes(benchmark.name)) await runOne(benchmark)
}
process.exit(0)
