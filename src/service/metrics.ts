/* The metrics of `GET /metrics`, in the text form that Prometheus reads. */
import { Gauge, Registry } from 'prom-client'

/** All metrics, as they are now. */
export async function metricsText(version: string): Promise<string> {
  const registry = new Registry()
  const info = new Gauge({
    name: 'shopsync_build_info',
    help: 'Always 1; the label says which version runs.',
    labelNames: ['version'],
    registers: [registry],
  })
  info.set({ version }, 1)
  return registry.metrics()
}
