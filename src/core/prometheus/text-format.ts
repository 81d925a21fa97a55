import type { HistogramSnapshot } from './histogram.ts'

/*
 * Prometheus's text format 0.0.4:
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */

/** Content type of the text. */
export const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Labels of one sample, by name. */
export type Labels = Readonly<Record<string, string>>

/** All samples of one metric. */
export type MetricFamily = NumberFamily | HistogramFamily | SummaryFamily

/** A metric of plain numbers. `untyped` is for names that are not Weir's. */
export interface NumberFamily {
  readonly type: 'counter' | 'gauge' | 'untyped'
  readonly name: string
  readonly help: string
  readonly samples: readonly { readonly labels: Labels; readonly value: number }[]
}

/** A metric of observations in fixed buckets. */
export interface HistogramFamily {
  readonly type: 'histogram'
  readonly name: string
  readonly help: string
  readonly samples: readonly { readonly labels: Labels; readonly histogram: HistogramSnapshot }[]
}

/** A metric of observations with quantiles that were computed where they were observed. */
export interface SummaryFamily {
  readonly type: 'summary'
  readonly name: string
  readonly help: string
  readonly samples: readonly SummarySample[]
}

/** Quantiles (`0.5`: the median), sum and number of observations. */
export interface SummarySample {
  readonly labels: Labels
  readonly quantiles: Readonly<Record<string, number>>
  readonly sum: number
  readonly count: number
}

/** The text of families; families without samples are left out. */
export function prometheusText(families: readonly MetricFamily[]): string {
  let text = ''
  for (const family of families) {
    if (family.samples.length === 0) continue
    const { name, help, type } = family
    text += `# HELP ${name} ${escapedHelp(help)}\n# TYPE ${name} ${type}\n${samplesText(family)}`
  }
  return text
}

function samplesText(family: MetricFamily): string {
  const { name } = family
  switch (family.type) {
    case 'histogram':
      return family.samples.map((sample) => histogramText(name, sample)).join('')
    case 'summary':
      return family.samples.map((sample) => summaryText(name, sample)).join('')
    default:
      return family.samples.map(({ labels, value }) => line(name, labels, value)).join('')
  }
}

function histogramText(
  name: string,
  { labels, histogram }: HistogramFamily['samples'][number],
): string {
  const { bounds, counts, sum } = histogram
  let text = ''
  let count = 0
  for (const [bucket, observations] of counts.entries()) {
    count += observations
    const le = numberText(bounds[bucket] ?? Number.POSITIVE_INFINITY)
    text += line(`${name}_bucket`, { ...labels, le }, count)
  }
  return text + line(`${name}_sum`, labels, sum) + line(`${name}_count`, labels, count)
}

function summaryText(name: string, { labels, quantiles, sum, count }: SummarySample): string {
  const values = Object.entries(quantiles).map(([quantile, value]) =>
    line(name, { ...labels, quantile }, value),
  )
  return values.join('') + line(`${name}_sum`, labels, sum) + line(`${name}_count`, labels, count)
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapedLabel(text)}"`)
  const braces = pairs.length === 0 ? '' : `{${pairs.join(',')}}`
  return `${name}${braces} ${numberText(value)}\n`
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

function escapedHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapedLabel(text: string): string {
  return escapedHelp(text).replaceAll('"', '\\"')
}
