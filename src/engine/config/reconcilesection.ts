/* The section `reconcile` of the configuration. */
import { section, share } from './leaf.js'
import { configSection, settingsOf } from './section.js'

export const reconcileSection = configSection({
  name: 'reconcile',
  after: 'privacy',
  shape: section(
    {
      maxDeletes: share(1)
        .default(0.2)
        .describe(
          "Share of a cursor's rows that may be marked deleted at once; more needs --accept-deletes.",
        ),
    },
    'Limits of `shopsync reconcile`.',
  ),
})

export const reconcileSettings = settingsOf(reconcileSection)
