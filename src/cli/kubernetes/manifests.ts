import { autoscalerOf } from './autoscaler.ts'
import { containerOf, volumesOf } from './container.ts'
import { type Manifest, metadataOf, podLabels } from './manifest.ts'
import { networkPolicyOf } from './network-policy.ts'
import type { KubernetesPlan, SecretKey } from './plan.ts'

/** User and group of the image that the template of a project builds: `node`. */
const USER = 1000

/** What stands in the template of a Secret in place of a value. */
export const REPLACE_ME = 'REPLACE-ME'

/** The objects of a job, in the order in which they are applied. */
export function manifestsOf(plan: KubernetesPlan): readonly Manifest[] {
  return [
    accountOf(plan),
    ...secretOf(plan),
    ...servicesOf(plan),
    networkPolicyOf(plan),
    budgetOf(plan),
    statefulSetOf(plan),
    ...autoscalerOf(plan),
  ]
}

function accountOf(plan: KubernetesPlan): Manifest {
  const annotations = plan.accountAnnotations
  const isAnnotated = Object.keys(annotations).length > 0
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { ...metadataOf(plan), ...(isAnnotated ? { annotations } : {}) },
    // No process asks Kubernetes for anything.
    automountServiceAccountToken: false,
  }
}

function secretOf(plan: KubernetesPlan): Manifest[] {
  const { secret, autoscaler, kafka } = plan
  if (secret.exists || secret.keys.length === 0) return []
  const values: Partial<Record<SecretKey | 'sasl-username', string>> = Object.fromEntries(
    secret.keys.map((key) => [key, REPLACE_ME]),
  )
  // KEDA takes the name from the Secret, too.
  const isForKeda = autoscaler?.kind === 'keda' && kafka.sasl !== undefined
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...metadataOf(plan), name: secret.name },
      type: 'Opaque',
      stringData: {
        ...(isForKeda ? { 'sasl-username': kafka.sasl.username } : {}),
        ...values,
      },
    },
  ]
}

/** The Service that names each pod, and the one of clients, which has the ready ones. */
function servicesOf(plan: KubernetesPlan): Manifest[] {
  const ports = [{ name: 'health', port: plan.healthPort, targetPort: 'health' }]
  const selector = podLabels(plan)
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadataOf(plan, HEADLESS),
      // Processes find each other before they are ready.
      spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector, ports },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadataOf(plan),
      spec: { type: 'ClusterIP', selector, ports },
    },
  ]
}

const HEADLESS = '-processes'

/** Nodes that are emptied take one process at a time. */
function budgetOf(plan: KubernetesPlan): Manifest {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: metadataOf(plan),
    spec: { maxUnavailable: 1, selector: { matchLabels: podLabels(plan) } },
  }
}

function statefulSetOf(plan: KubernetesPlan): Manifest {
  const metadata = metadataOf(plan)
  const { replicas, autoscaler, graceSeconds } = plan
  const matchLabels = podLabels(plan)
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata,
    spec: {
      // An autoscaler decides it, and applying the manifests again must not.
      ...(autoscaler === undefined ? { replicas } : {}),
      serviceName: `${plan.name}${HEADLESS}`,
      // Processes need no order; an update replaces one after the other, each once the one before is ready.
      podManagementPolicy: 'Parallel',
      updateStrategy: { type: 'RollingUpdate' },
      selector: { matchLabels },
      template: {
        metadata: { labels: metadata.labels },
        spec: {
          serviceAccountName: plan.name,
          automountServiceAccountToken: false,
          // Variables of Services would be read as settings: WEIR_PORT.
          enableServiceLinks: false,
          terminationGracePeriodSeconds: graceSeconds,
          securityContext: {
            ...{ runAsNonRoot: true, runAsUser: USER, runAsGroup: USER, fsGroup: USER },
            seccompProfile: { type: 'RuntimeDefault' },
          },
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels },
            },
          ],
          containers: [containerOf(plan)],
          volumes: volumesOf(plan),
        },
      },
    },
  }
}
