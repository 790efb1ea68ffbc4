import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launchFirefox, launchWebKit } from '@gatehouse/test-kit/engines'
import { expect } from 'chai'
import sharp from 'sharp'
import type { EnginePage } from './engine-page.ts'
import { shown } from './shown.ts'
import type { Instance } from './start-instance.ts'

/** `date` is what a person types into a date field for 1 March 2024, and `month` a part of it. */
export const engines = [
  { name: 'Firefox', launch: launchFirefox, date: '2024-03-01', month: null },
  { name: 'Safari', launch: launchWebKit, date: '03/01/2024', month: '03' },
]

/** The path of a picture, which goes with `resources`. */
export async function makePicture(resources: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-picture-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const picture = join(folder, 'picture.png')
  const square = { width: 64, height: 64, channels: 3, background: 'teal' } as const
  await writeFile(picture, await sharp({ create: square }).png().toBuffer())
  return picture
}

type Registrant = { username: string; password: string; picture: string }

export async function registerInTwoSteps(page: EnginePage, instance: Instance, registrant: Registrant): Promise<void> {
  const { username, password, picture } = registrant
  await page.goTo(`${instance.origin}/register`)
  await page.fill('Username', username)
  await page.see(shown('{username} is available.', { username }))
  await page.fill('Password', password)
  await page.fill('Confirm password', password)
  await page.click('Continue')
  await page.fill('Display name', 'Ada Lovelace')
  await page.click('coral')
  await page.type('Avatar', picture)
  await page.click('Use this image')
  await page.click('Create account')

  await page.see('Connected instances')
  await page.see('Ada Lovelace')
  const source = await page.run(() => document.querySelector('.profile .avatar img')?.getAttribute('src'))
  expect(source).to.contain('/api/uploads/')
}
