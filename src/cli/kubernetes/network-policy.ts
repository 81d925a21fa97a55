import { type Manifest, metadataOf, podLabels } from './manifest.ts'
import type { KubernetesPlan } from './plan.ts'

const DNS = 53

/**
 * Who may connect to the pods of a job, and where they may: pods of the namespace to the health port, the processes of the
 * job to each other, and these to DNS, to Kafka and to the storage of the checkpoints.
 */
export function networkPolicyOf(plan: KubernetesPlan): Manifest {
  const { healthPort, checkpoints, egressPorts, kafka } = plan
  const podSelector = { matchLabels: podLabels(plan) }
  const brokerPorts = kafka.brokers.split(',').map((broker) => Number(broker.split(':').at(-1)))
  const ports = [...new Set([...brokerPorts, ...checkpoints.ports, ...egressPorts])]
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadataOf(plan),
    spec: {
      podSelector,
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        { from: [{ podSelector }] },
        { from: [{ podSelector: {} }], ports: [tcp(healthPort)] },
      ],
      egress: [
        { ports: [{ protocol: 'UDP', port: DNS }, tcp(DNS)] },
        { to: [{ podSelector }] },
        { ports: ports.toSorted((a, b) => a - b).map(tcp) },
      ],
    },
  }
}

function tcp(port: number): object {
  return { protocol: 'TCP', port }
}
