/* The section `status` of the configuration: when a cursor needs attention. */
import { durationLeaf, section } from './leaf.js'
import { configSection, settingsOf } from './section.js'

export const statusSection = configSection({
  name: 'status',
  after: 'reconcile',
  shape: section(
    {
      staleAfter: durationLeaf(
        'PT26H',
        'A cursor is stale if its last complete run is older than this; `status` then exits with 1.',
      ),
      deletesUncheckedAfter: durationLeaf(
        'P3D',
        "`reconcile` checks for deletions. If a cursor's deletions were checked once, but not for this long, `status` exits with 1.",
      ),
    },
    'When `shopsync status` exits with 1.',
  ),
})

export const statusSettings = settingsOf(statusSection)
