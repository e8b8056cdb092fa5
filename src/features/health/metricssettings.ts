/* The section `metrics` of the configuration: what monitoring gets. */
import { z } from 'zod'
import { section, textLeaf, whole } from '../../engine/config/leaf.js'
import { configSection, settingsOf } from '../../engine/config/section.js'

const labelError =
  'the name of a label such as "warehouse": letters, digits and _, no digit first, no __ first'

const shape = section(
  {
    textfile: textLeaf('the path of a file such as "/var/lib/prometheus/node-exporter/shopsync.prom"')
      .optional()
      .describe(
        "A file, relative to the configuration's folder, that is written after each run for the textfile collector of node_exporter, which takes names that end in .prom. Without it, metrics come only from `shopsync schedule` and `shopsync worker`.",
      ),
    maxTenants: whole(0, 100_000)
      .default(50)
      .describe(
        'With up to this many tenants, each has its own series for its watermarks; with more, one series shows the oldest of all tenants.',
      ),
    labels: z
      .record(
        z.string().regex(/^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/, { error: labelError }),
        textLeaf('the value of a label, a text'),
        { error: 'an object such as {"warehouse": "main"}' },
      )
      .prefault({})
      .describe('Labels on every series, to tell apart several warehouses that one node_exporter collects.'),
  },
  'Settings for monitoring.',
)

export const metricsSection = configSection({
  name: 'metrics',
  after: 'schedule',
  shape,
  read: (document) => ({ ...document, textfile: document.textfile }),
})

export const metricsSettings = settingsOf(metricsSection)
