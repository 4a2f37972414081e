//! Tasks that merge sorted rows of other tasks.

use super::*;

const ORDER: &str = "ASC_NULLS_LAST";

fn ordered(node: &mut Json) {
    node["orderingScheme"] =
        json!({"orderBy": [{"variable": variable("k", "bigint"), "sortOrder": ORDER}]});
}

/// The fragment with its rows sorted by `k`.
fn sorted_by_key(mut fragment: Json) -> Json {
    let scan = fragment["root"]["source"].take();
    let mut sort = json!({"@type": ".SortNode", "id": "2", "isPartial": true, "source": scan});
    ordered(&mut sort);
    fragment["root"]["source"] = sort;
    fragment
}

fn merging_receiver() -> Json {
    let mut fragment = receiver();
    ordered(&mut fragment["root"]["source"]);
    fragment
}

impl Running {
    /// The rows of a buffer, in order.
    async fn read_rows(&self, task: &str) -> Vec<(i64, String)> {
        let (mut token, mut rows) = (0, Vec::new());
        let types = [Type::BigInt, Type::Varchar];
        loop {
            let answer = self.get(&format!("/v1/task/{task}/results/0/{token}")).await;
            for page in PageReader::new(&answer.body, &types, PrestoPageOptions::default()) {
                let page = page.unwrap();
                let [keys, texts] = [0, 1].map(|it| page.column(it).to_values().unwrap());
                rows.extend(keys.iter().zip(texts).map(|(key, text)| {
                    (key.as_i128().unwrap() as i64, text.as_str().unwrap().to_owned())
                }));
            }
            token = answer.header("X-Presto-Page-End-Sequence-Id").parse().unwrap();
            if answer.header("X-Presto-Buffer-Complete") == "true" {
                return rows;
            }
        }
    }
}

#[tokio::test]
async fn sorted_rows_of_other_tasks_are_merged() {
    let (worker, other) = (start().await, start().await);
    // One producer has 60175 rows, one has 25, one has none.
    let tasks = ["q.1.0.0.0", "q.1.0.1.0", "q.1.0.2.0"];
    let url = |task: &str| format!("http://{}/v1/task/{task}/results/0", other.address);
    let splits = [0, 1, 2].map(|it| remote_split(it as i64, &url(tasks[it])));
    let consume = update(Some(&merging_receiver()), &splits[..2], false);
    worker.post(TASK, &consume).await.json();
    let mut large = split(0);
    large["split"]["connectorSplit"]["tableHandle"]["tableName"] = json!("lineitem");
    other.post(tasks[0], &update(Some(&sorted_by_key(lineitem())), &[large], true)).await.json();
    other.post(tasks[1], &update(Some(&sorted_by_key(nation())), &[split(0)], true)).await.json();
    other.post(tasks[2], &update(Some(&sorted_by_key(nation())), &[], true)).await.json();
    worker.post(TASK, &update(None, &splits, true)).await.json();
    let rows = worker.read_rows(TASK).await;
    assert_eq!(rows.len(), 60175 + 25);
    assert!(rows.is_sorted_by_key(|it| it.0));
    // Of equal keys, those of the first location come first.
    assert_eq!(rows[0], (0, "ALGERIA".to_owned()));
    let last = rows.iter().rfind(|it| it.0 == 1).unwrap();
    assert_eq!(last.1, "ARGENTINA");
    assert_eq!(rows.iter().filter(|it| it.0 == 1).count(), 7);
    for worker in [worker, other] {
        worker.wait_until_empty().await;
        worker.end().await;
    }
}

#[tokio::test]
async fn a_location_without_an_answer_fails_the_merge() {
    let worker = start_with("exchange.max-error-duration=0s\n").await;
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (address, _requests) = fake_worker(results_text("204 No Content", 0, 0, "i", ""));
    let url =
        |address: SocketAddr, task: &str| format!("http://{address}/v1/task/{task}/results/0");
    let splits =
        [remote_split(0, &url(address, "q.1.0.0.0")), remote_split(1, &url(closed, "q.1.0.1.0"))];
    worker.post(TASK, &update(Some(&merging_receiver()), &splits, true)).await.json();
    let status = worker.status_after(TASK, "RUNNING").await;
    assert_eq!(status["failures"][0]["errorCode"]["name"], "PAGE_TRANSPORT_TIMEOUT", "{status}");
    worker.wait_until_empty().await;
    worker.end().await;
}

#[tokio::test]
async fn a_merge_ends_without_a_task_that_was_removed_before_all_were_known() {
    let worker = start().await;
    let (address, _requests) = fake_worker(results_text("204 No Content", 0, 0, "i", ""));
    let url = format!("http://{address}/v1/task/{PRODUCER}/results/0");
    let splits = [remote_split(0, &url)];
    worker.post(TASK, &update(Some(&merging_receiver()), &splits, false)).await.json();
    let path = format!("/v1/task/{TASK}/remote-source/{PRODUCER}");
    worker.send(Method::DELETE, &path, &[], "").await;
    worker.post(TASK, &update(None, &splits, true)).await.json();
    assert!(worker.read_rows(TASK).await.is_empty());
    worker.end().await;
}
