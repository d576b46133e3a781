/**
 * Adds the codes by id, and the ends of channels as codes, to a topology from the API.
 * @param {TopologyPayload} payload @param {string[]} [coordinators] the ids of the coordinators
 * @returns {OpenTopology}
 */
export function openTopology({ processes, channels, arrangement }, coordinators = []) {
  const processCode = new Map(processes.map((process, code) => [process.id, code]));
  const opened = channels.map((channel, code) => ({
    ...channel,
    code,
    sourceCode: processCode.get(channel.source),
    targetCode: processCode.get(channel.target),
  }));
  return {
    processes,
    arrangement,
    channels: opened,
    processCode,
    coordinators: coordinators.map((id) => processCode.get(id)),
    channelCode: new Map(opened.map((channel) => [channel.id, channel.code])),
  };
}
