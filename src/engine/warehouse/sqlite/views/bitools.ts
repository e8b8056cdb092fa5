import { resolve } from 'node:path'
import type { BiTools, ToolPlace } from '../../views/bitools.js'

/**
 * A SQLite warehouse as dbt-sqlite sees it: every table in `main`. A view can't read from another file, and dbt's own
 * views shouldn't be in the warehouse's file, where a migration would run into them, so models are tables. There is no
 * freshness check, because timestamps are text here and dbt wants an instant.
 *
 * Superset compares a day with an instant, as text: without a separate format for days, the first day of a range is lost.
 * The instants in the views are written the way Superset writes its own; those in the tables aren't, nor those that views
 * show as the tables have them, and would lose a day's rows.
 */
export const biTools = ({ url }: ToolPlace): BiTools => ({
  schema: 'main',
  views: 'main',
  materialized: 'table',
  typeOf: (column) => column.sqlite,
  name: `shopsync ${resolve(url.slice('sqlite:'.length))}`,
  uri: `sqlite:///${resolve(url.slice('sqlite:'.length))}`,
  timeOf: ({ kind, as_stored: isStored = false }, { part }) => {
    if (kind === 'day') return { format: '%Y-%m-%d' }
    return kind === 'timestamp' && part === 'view' && !isStored ? { format: null } : undefined
  },
})
