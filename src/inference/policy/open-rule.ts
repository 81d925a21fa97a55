import { assertNever } from '../../core/errors.ts'
import type { BatchingSettings } from '../port/deployment.ts'
import type { BatchingRule } from './batching-facts.ts'
import { GreedyRule } from './greedy-rule.ts'
import { LimitRule } from './limit-rule.ts'
import { AimdLimit, QuantileLimit, type SizeLimit } from './size-limits.ts'
import { SlackRule } from './slack-rule.ts'
import { ThresholdRule } from './threshold-rule.ts'

const fixed = (items: number): SizeLimit => ({ items, observe() {} })

/** The rule of a deployment, for one worker. */
export function openRule(settings: BatchingSettings, maxItems: number): BatchingRule {
  switch (settings.rule) {
    case 'slack':
      return new SlackRule(settings.delayMs ?? 0)
    case 'aimd': {
      const { increase = 2, decrease = 0.9, delayMs = 0 } = settings
      return new LimitRule(new AimdLimit({ maxItems, increase, decrease }), {
        delayMs,
        sheds: true,
      })
    }
    case 'quantile': {
      const { quantile = 0.99, delayMs = 0 } = settings
      return new LimitRule(new QuantileLimit(maxItems, quantile), { delayMs, sheds: true })
    }
    case 'greedy':
      return new GreedyRule(settings.sizes ?? [16, 32, 48, 64])
    case 'threshold':
      return new ThresholdRule({ quantumMs: settings.quantumMs ?? 5, cap: settings.cap ?? 128 })
    case 'window':
      return new LimitRule(fixed(maxItems), { delayMs: settings.delayMs ?? 5, sheds: false })
    case 'none':
      return new LimitRule(fixed(1), { delayMs: 0, sheds: false })
    default:
      return assertNever(settings)
  }
}
