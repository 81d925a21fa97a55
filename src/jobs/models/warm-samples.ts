import type { GoldenCase } from '../../inference/repository/golden.ts'
import type { ModelSettings } from '../../inference/repository/settings.ts'

/** The settings with the golden inputs as samples of the probe, and of the warm-up where there is one. */
export function withSamples(settings: ModelSettings, golden: readonly GoldenCase[]): ModelSettings {
  const { deployment } = settings
  const samples = golden.map(({ inputs }) => inputs)
  const warmUp =
    deployment.warmUp === undefined || golden.length === 0
      ? {}
      : { warmUp: { ...deployment.warmUp, samples } }
  return { ...settings, deployment: { ...deployment, ...warmUp, probe: { samples } } }
}
