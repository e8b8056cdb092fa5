/* The section `status` of the configuration: when a cursor needs attention. */
import { durationLeaf, section } from '../../engine/config/leaf.js'
import { configSection, settingsOf } from '../../engine/config/section.js'

export const statusSection = configSection({
  name: 'status',
  after: 'reconcile',
  shape: section(
    {
      staleAfter: durationLeaf(
        'PT26H',
        'A cursor whose last complete run is older is stale, and `status` exits with 1.',
      ),
      deletesUncheckedAfter: durationLeaf(
        'P3D',
        'Only `reconcile` sees deletions: a cursor whose deletions were checked once, and not for so long, makes `status` exit with 1.',
      ),
    },
    'When `shopsync status` exits with 1.',
  ),
})

export const statusSettings = settingsOf(statusSection)
