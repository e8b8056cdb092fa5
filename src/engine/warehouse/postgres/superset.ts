import { type SupersetTarget, supersetMask } from '../../../features/dictionary/supersetexport.js'

/** The role that docs/bi.md makes for reading: the configured one may write. */
const reader = 'bi'

/** `url`: empty where there is no configuration; the import names the place, and people may correct it. */
export function supersetTarget(url: string, schema: string, views = `${schema}_analytics`): SupersetTarget {
  const { host, pathname, searchParams } = new URL(
    URL.canParse(url) ? url : 'postgres://localhost:5432/warehouse',
  )
  const mode = searchParams.get('sslmode')
  return {
    name: `shopsync ${host}${pathname} ${schema}`,
    uri: `postgresql+psycopg2://${reader}:${supersetMask}@${host}${pathname}${mode === null ? '' : `?sslmode=${mode}`}`,
    schema: views,
    typeOf: (column) => column.postgres,
    timeOf: ({ kind }) => (kind === 'day' || kind === 'timestamp' ? { format: null } : undefined),
  }
}
