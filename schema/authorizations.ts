import { boolean, id, nullable } from './resource.js'

/** A partner's grants, one record per tenant: they show which tenants exist (docs/dev/api.md, Authorizations). */
export const authorizations = {
  name: 'authorizations',
  doc: 'API partner authorizations, which let a partner use tenants.',
  source: 'Resources: Authorization',
  fields: {
    id: id('Id of the authorization.'),
    api_partner_id: id('Identifier of the API partner.'),
    tenant_id: nullable(id('Tenant identifier.')),
    writable: boolean('true if write actions are enabled for this authorization.'),
    api_tenant_id: id('Identifier of the API tenant.'),
  },
} as const
