/**
 * Values that the API's own document lists. Its fields, their types and which of them may be null are in test/fixtures/documents,
 * which was compared with it, as columns of tables.
 */
import { expect, test } from 'vitest'
import { resources } from '../../schema/index.js'
import type { Shape } from '../../schema/resource.js'

const enumerations = `
customers.state: AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND
  OH OK OR PA RI SC SD TN TX UT VT WA WV WI WY AB BC MB NB NF NS ON PE PQ SK VA PR
integrator_tags.taggable_type: Appointment Assignment CannedJob Category Customer GpException Inventory Payment
  PaymentTransaction PurchaseRecord Recommendation RepairOrder Shop Staff Status Vehicle Vendor
inventories.hazmat_rating: caution danger warning none
inventories.type: PartInventory CoreInventory
past_recommendations.approval_type: customer email estimate person phone
payment_transactions.status: approved retry declined authentication_error invalid_hsn request_error server_error
  terminal_not_connected_error terminal_in_use_error transaction_cancelled_error pin_debit_not_supported decryption_failure
  signature_not_supported
payments.payment_type_details.type: Credit_Card Check Cash Other
recommendations.approval_type: customer email person phone
recommendations.service.inspections.state: yellow green unchecked red
repair_orders.preferred_contact_type: Waiting Phone Email Text
repair_orders.services.inspections.state: yellow green unchecked red
repair_orders.state: estimate in_progress invoice
`

const listed = (shape: Shape, at: string): string[] =>
  Object.entries(shape).flatMap(([name, member]) => {
    if ('fields' in member) return listed(member.fields, `${at}.${name}`)
    const values = member.type === 'field' ? member.values : undefined
    return values ? [`${at}.${name}: ${values.map((value) => value.replace(' C', '_C')).join(' ')}`] : []
  })

test('enumerations contain the values of the document, each once', () => {
  const found = Object.entries(resources).flatMap(([name, { fields }]) => listed(fields, name))
  expect(found.sort()).toEqual(
    enumerations
      .trim()
      .split(/\n(?! )/)
      .map((line) => line.replaceAll(/\n +/g, ' ')),
  )
})
