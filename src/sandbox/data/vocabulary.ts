/** Words that the generated shops are made of. Split on '|' to keep them readable. */
const words = (text: string): readonly string[] => text.split('|')

export const FIRST_NAMES = words(
  'James|Mary|Robert|Patricia|John|Jennifer|Michael|Linda|David|Elizabeth|William|Barbara|Richard|Susan|Joseph|Jessica|Thomas|Sarah|Carlos|Karen|Daniel|Nancy|Matthew|Lisa|Anthony|Betty|Mark|Sandra|Donald|Ashley|Steven|Kimberly|Andrew|Emily|Paul|Donna|Joshua|Michelle|Kenneth|Carol|Kevin|Amanda|Brian|Melissa|Luis|Deborah|Timothy|Stephanie|Jorge|Rebecca|José|María|Zoë|Renée|Søren|Łukasz|Nguyễn|Anaïs|Björn|Chloé|Iván|Mónica|Raúl|Sofía',
)

export const LAST_NAMES = words(
  'Smith|Johnson|Williams|Brown|Jones|Garcia|Miller|Davis|Rodriguez|Martinez|Hernandez|Lopez|Gonzalez|Wilson|Anderson|Thomas|Taylor|Moore|Jackson|Martin|Lee|Perez|Thompson|White|Harris|Sanchez|Clark|Ramirez|Lewis|Robinson|Walker|Young|Allen|King|Wright|Scott|Torres|Nguyen|Hill|Flores|Green|Adams|Nelson|Baker|Hall|Rivera|Campbell|Mitchell|Carter|Roberts|O’Brien|Muñoz|Peña|García|Łukaszewicz|Jørgensen|Müller|Lefèvre|Nuñez|Šimić|D’Angelo|van der Berg',
)

export const STREETS = words(
  'Main St|Oak Ave|Maple Dr|Cedar Ln|Elm St|Washington Blvd|Lake Rd|Hill St|Sunset Dr|2nd St|Park Ave|Pine St|River Rd|Highland Ave|Church St|County Rd 12|Mill Creek Way|Old Post Rd',
)

export interface City {
  readonly name: string
  readonly state: string
  readonly zip: string
  readonly area: string
  /** Hours that local time lies behind UTC. */
  readonly behind: number
  readonly partTax: number
}

const city = (
  name: string,
  state: string,
  zip: string,
  area: string,
  behind: number,
  partTax: number,
): City => ({
  name,
  state,
  zip,
  area,
  behind,
  partTax,
})

export const CITIES: readonly City[] = [
  city('Austin', 'TX', '787', '512', 6, 8.25),
  city('Round Rock', 'TX', '786', '737', 6, 8.25),
  city('Madison', 'WI', '537', '608', 6, 5.5),
  city('Columbus', 'OH', '432', '614', 5, 7.5),
  city('Dayton', 'OH', '454', '937', 5, 7.5),
  city('Raleigh', 'NC', '276', '919', 5, 7.25),
  city('Denver', 'CO', '802', '303', 7, 8.81),
  city('Boulder', 'CO', '803', '720', 7, 9.05),
  city('Minneapolis', 'MN', '554', '612', 6, 8.53),
  city('Buffalo', 'NY', '142', '716', 5, 8.75),
  city('Nashville', 'TN', '372', '615', 6, 9.25),
  city('Omaha', 'NE', '681', '402', 6, 7),
]

export const BUSINESSES = words(
  'Lakeside Auto Care|Northgate Motors|Brothers’ Garage|Cedar Creek Automotive|Summit Tire & Service|Pioneer Auto Repair|Riverside Car Clinic|Union Street Garage|Blue Ridge Automotive|Eastside Auto Works',
)

export interface Model {
  readonly make: string
  readonly model: string
  readonly engines: readonly string[]
  /** World manufacturer code and the digits that follow it in the VIN. */
  readonly vin: string
  readonly from: number
}

const model = (make: string, name: string, engines: string, vin: string, from = 2006): Model => ({
  make,
  model: name,
  engines: words(engines),
  vin,
  from,
})

export const MODELS: readonly Model[] = [
  model('Ford', 'F-150', '3.5L V6 Turbo|5.0L V8|2.7L V6 Turbo', '1FTEW1E5'),
  model('Chevrolet', 'Silverado 1500', '5.3L V8|6.2L V8|4.3L V6', '3GCUYDED'),
  model('Ram', '1500', '5.7L V8|3.6L V6', '1C6SRFFT', 2011),
  model('Toyota', 'Camry', '2.5L L4|3.5L V6', '4T1B11HK'),
  model('Toyota', 'RAV4', '2.5L L4|2.5L L4 Hybrid', '2T3P1RFV'),
  model('Toyota', 'Tacoma', '3.5L V6|2.7L L4', '3TMCZ5AN'),
  model('Honda', 'Civic', '1.5L L4 Turbo|2.0L L4', '2HGFC2F6'),
  model('Honda', 'CR-V', '1.5L L4 Turbo|2.4L L4', '7FARW2H5'),
  model('Honda', 'Odyssey', '3.5L V6', '5FNRL6H7'),
  model('Nissan', 'Altima', '2.5L L4|3.5L V6', '1N4BL4BV'),
  model('Nissan', 'Rogue', '2.5L L4', '5N1AT2MT', 2008),
  model('Subaru', 'Outback', '2.5L H4|3.6L H6', '4S4BSANC'),
  model('Hyundai', 'Elantra', '2.0L L4|1.8L L4', '5NPD84LF'),
  model('Kia', 'Sorento', '2.4L L4|3.3L V6', '5XYPG4A3'),
  model('Jeep', 'Grand Cherokee', '3.6L V6|5.7L V8', '1C4RJFBG'),
  model('Volkswagen', 'Jetta', '1.4L L4 Turbo|2.0L L4', '3VWC57BU'),
  model('BMW', '328i', '2.0L L4 Turbo|3.0L L6', 'WBA3A5C5', 2007),
  model('Mazda', 'CX-5', '2.5L L4', 'JM3KFBCM', 2012),
  model('GMC', 'Sierra 1500', '5.3L V8|6.2L V8', '3GTU2NEC'),
  model('Citroën', '2CV', '0.6L H2', 'VF7AZKA0', 2006),
]

export const COLORS = words('white|black|silver|gray|red|blue|green|beige')

export const VENDORS = words(
  'Parts Depot|Metro Auto Supply|Tire Warehouse|Genuine Import Parts|Dealer Parts Counter|Midstate Battery|Core & Reman Co.|Fluids Direct',
)

export const STATUSES: readonly (readonly [string, string])[] = [
  ['Waiting for approval', '#f0ad4e'],
  ['Waiting for parts', '#d9534f'],
  ['Diagnosing', '#5bc0de'],
  ['In the bay', '#0275d8'],
  ['Quality check', '#6f42c1'],
  ['Ready for pick-up', '#5cb85c'],
]

export const LABELS: readonly (readonly [string, string])[] = [
  ['Waiter', '#e74c3c'],
  ['Fleet', '#2980b9'],
  ['Comeback', '#8e44ad'],
  ['Tow-in', '#f39c12'],
  ['Loaner out', '#16a085'],
]

export const SOURCES = words('Repeat|Referral|Google|Drive-by|Fleet|Mailer|Yelp')

export const NOTES = words(
  'Customer called, wants to be rung before any extra work.|Left voicemail about the estimate.|Approved by phone.|Parts arrive tomorrow morning.|Customer waits in the lounge.|Key is in the night drop box.|Noise comes back only when cold.|Drove 12 miles, could not reproduce.|Wheel lock key in glove box.|Asked for the old parts back.|Text when ready – no calls please.|Check engine light off after reset; recheck in 500 mi.',
)

export const DETAILS = words(
  'Oil change and general check|Squeaks when braking|Check engine light on|Vibration at 60 mph|A/C blows warm|Hard to start in the morning|Annual service|Pulls to the right|Coolant smell in the cabin|Rattle from the rear|New tires before the winter|Battery light came on',
)
