import type { Page } from 'playwright-core'

const roles = /^(?:button|link|textbox|searchbox|combobox|checkbox|radio|switch|slider)$/
/** Parts of the browser's own date inputs. */
const ownNames = /^Show .*picker$/

type Control = { role: string; name: string; url: string }

/** Every control that a screen reader finds, with the name that it reads out. */
export async function listControls(page: Page): Promise<Control[]> {
  const devtools = await page.context().newCDPSession(page)
  const { nodes } = await devtools.send('Accessibility.getFullAXTree')
  await devtools.detach()
  return nodes.flatMap(({ ignored, role, name, properties }) => {
    const url = String(properties?.find((property) => property.name === 'url')?.value.value ?? '')
    const control = { role: String(role?.value), name: String(name?.value ?? '').trim(), url }
    return ignored || !roles.test(control.role) || ownNames.test(control.name) ? [] : [control]
  })
}

/** The controls without a name, and those that a screen reader could not tell from another one of the page that leads elsewhere. */
export async function findUnclearNames(page: Page): Promise<string[]> {
  const all = await listControls(page)
  const places = new Map(all.map((control) => [control.url ? `${control.name} ${control.url}` : control, control]))
  const controls = [...places.values()].map(({ role, name }) => `${role} “${name}”`)
  const repeated = controls.filter((control, index) => controls.indexOf(control) !== index)
  return [...controls.filter((control) => control.endsWith('“”')), ...repeated.map((control) => `${control} twice`)]
}
