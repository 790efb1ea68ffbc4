import { succeeds } from '../engine.ts'
import { callInstance, expectThat, processes, type Check } from '../scene.ts'
import { register, uploadPixel } from './accounts.ts'

/** After all others: every container and volume is replaced. */
export const restoreDrill: Check = {
  name: 'a backup is restored into new volumes',
  async run(scene) {
    const { project } = scene
    const { token, username, password } = await register(scene)
    const url = await uploadPixel(scene, token)
    const picture = await (await fetch(url)).bytes()
    const written = await project.run('backup', '/backups/drill.tar.gz')
    const restore = () => project.run('restore', '/backups/drill.tar.gz')
    expectThat(!(await succeeds(project.run('backup', '/backups/drill.tar.gz'))), 'a backup replaced another one')
    expectThat(!(await succeeds(restore())), 'an archive was restored beside running services')
    await project.reset()
    await project.up('postgres')
    const restored = await restore()
    await project.up()
    const me = await callInstance(scene, 'GET /api/users/@me', { token })
    expectThat(me.status === 200, `the token of before was answered with ${me.status}`)
    const login = await callInstance(scene, 'POST /api/auth/login', { body: { username, password } })
    expectThat(login.status === 200, `the login was answered with ${login.status}`)
    expectThat(Buffer.from(await (await fetch(url)).bytes()).equals(picture), 'the picture is another one')
    for (const service of processes)
      expectThat((await project.containers(service)).length === 2, `${service} is not there twice`)
    return `${written} ${restored} The session, the password and the picture are as they were`
  },
}
