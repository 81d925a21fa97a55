import { COMMON_OPTIONS, type Command, usageOf } from './command.ts'

/** The text of `--help`. */
export function helpOf(command: Command): string {
  const all = Object.entries({ ...command.options, ...COMMON_OPTIONS })
  const specs = all.filter(([, spec]) => spec.isSecret !== true)
  const left = specs.map(([name, spec]) => {
    const short = spec.short === undefined ? '' : `-${spec.short}, `
    return `  ${short}--${name}${spec.type === 'string' ? ` ${spec.value ?? 'VALUE'}` : ''}`
  })
  const width = Math.max(...left.map((text) => text.length)) + 2
  const lines = specs.map(([, spec], i) => {
    const fallback =
      spec.default === undefined || spec.default === false || spec.default === ''
        ? ''
        : ` (default ${spec.default})`
    return `${left[i]!.padEnd(width)}${spec.help}${fallback}`
  })
  const details = command.details === undefined ? '' : `\n\n${command.details}`
  return `${command.summary}\n\nUsage: ${usageOf(command)} [options]\n\nOptions:\n${lines.join('\n')}${details}`
}
