import type { DbtTarget } from '../../../features/dictionary/dbtmodels.js'

/**
 * A SQLite warehouse as dbt-sqlite sees it: every table in `main`. No freshness: timestamps are text here, and dbt
 * wants an instant.
 */
export const dbtTarget = (): DbtTarget => ({
  schema: 'main',
  views: 'main',
  typeOf: (column) => column.sqlite,
})
