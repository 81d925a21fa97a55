import { type Manifest, metadataOf } from './manifest.ts'
import type { AutoscalerPlan, KubernetesPlan } from './plan.ts'

/** Time in which the number must be too high before a process is ended, s. A move costs a restore. */
const CALM_SECONDS = 300

/** Names of the mechanisms of SASL in KEDA. */
const KEDA_SASL: Readonly<Record<string, string>> = {
  PLAIN: 'plaintext',
  'SCRAM-SHA-256': 'scram_sha256',
  'SCRAM-SHA-512': 'scram_sha512',
}

/** The autoscaler of a job, with what it needs. */
export function autoscalerOf(plan: KubernetesPlan): Manifest[] {
  const { autoscaler } = plan
  if (autoscaler === undefined) return []
  return autoscaler.kind === 'hpa' ? [hpaOf(plan, autoscaler)] : kedaOf(plan, autoscaler)
}

function hpaOf(plan: KubernetesPlan, autoscaler: AutoscalerPlan): Manifest {
  const { metric, group, topic, lagPerProcess, mostReplicas } = autoscaler
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: metadataOf(plan),
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: plan.name },
      minReplicas: plan.replicas,
      maxReplicas: mostReplicas,
      metrics: [
        {
          type: 'External',
          external: {
            metric: {
              name: metric,
              selector: { matchLabels: { consumergroup: group, topic } },
            },
            target: { type: 'AverageValue', averageValue: String(lagPerProcess) },
          },
        },
      ],
      behavior: behavior(),
    },
  }
}

function kedaOf(plan: KubernetesPlan, autoscaler: AutoscalerPlan): Manifest[] {
  const { group, topic, lagPerProcess, mostReplicas } = autoscaler
  const { sasl, tls, brokers } = plan.kafka
  const hasSecrets = sasl !== undefined || tls?.secret !== undefined
  const authentication = metadataOf(plan, '-kafka')
  const trigger = {
    type: 'kafka',
    metadata: {
      bootstrapServers: brokers,
      consumerGroup: group,
      topic,
      lagThreshold: String(lagPerProcess),
      // Only processes read; without a commit there is nothing to count yet.
      scaleToZeroOnInvalidOffset: 'false',
      ...(sasl === undefined ? {} : { sasl: KEDA_SASL[sasl.mechanism] }),
      ...(tls === undefined ? {} : { tls: 'enable' }),
    },
    ...(hasSecrets ? { authenticationRef: { name: authentication.name } } : {}),
  }
  const scaled: Manifest = {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    metadata: metadataOf(plan),
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: plan.name },
      minReplicaCount: plan.replicas,
      maxReplicaCount: mostReplicas,
      advanced: { horizontalPodAutoscalerConfig: { behavior: behavior() } },
      triggers: [trigger],
    },
  }
  return hasSecrets ? [authenticationOf(plan, authentication), scaled] : [scaled]
}

function authenticationOf(plan: KubernetesPlan, metadata: Manifest['metadata']): Manifest {
  const { sasl, tls } = plan.kafka
  const inTls = (parameter: string, key: string): object[] =>
    tls?.secret === undefined ? [] : [{ parameter, name: tls.secret, key }]
  const secretTargetRef = [
    ...(sasl === undefined
      ? []
      : [
          { parameter: 'username', name: plan.secret.name, key: 'sasl-username' },
          { parameter: 'password', name: plan.secret.name, key: 'sasl-password' },
        ]),
    ...inTls('ca', 'ca.crt'),
    ...(tls?.hasClient === true ? [...inTls('cert', 'tls.crt'), ...inTls('key', 'tls.key')] : []),
  ]
  return {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'TriggerAuthentication',
    metadata,
    spec: { secretTargetRef },
  }
}

/** One process less a minute at most, and only after calm; more of them at once. */
function behavior(): object {
  return {
    scaleUp: { stabilizationWindowSeconds: 0 },
    scaleDown: {
      stabilizationWindowSeconds: CALM_SECONDS,
      policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }],
    },
  }
}
