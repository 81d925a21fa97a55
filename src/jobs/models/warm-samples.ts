import type { GoldenCase } from '../../inference/repository/golden.ts'
import type { ModelSettings } from '../../inference/repository/settings.ts'

/** The settings with the golden inputs as samples of the warm-up, where there is one. */
export function withSamples(settings: ModelSettings, golden: readonly GoldenCase[]): ModelSettings {
  const { deployment } = settings
  if (deployment.warmUp === undefined || golden.length === 0) return settings
  const samples = golden.map(({ inputs }) => inputs)
  return { ...settings, deployment: { ...deployment, warmUp: { ...deployment.warmUp, samples } } }
}
